// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

/**
 * A request of a pass to an engine: the samples of an index list, or the next samples of a shard.
 */
public sealed interface BatchRequest permits IndexRequest, StreamTask {}
