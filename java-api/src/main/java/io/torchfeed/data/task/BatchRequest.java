// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

/** A request of a pass to an engine: an index list, or a task that the pass has made itself. */
public sealed interface BatchRequest permits IndexRequest, BatchTask {}
