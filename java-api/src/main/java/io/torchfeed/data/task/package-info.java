// SPDX-License-Identifier: Apache-2.0
/**
 * The work of loading: requests, the tasks that fill batches with samples, the workers that run
 * them, the layout of a batch in memory, and the times of all this. Not exported, not part of the
 * API.
 */
@NullMarked
package io.torchfeed.data.task;

import org.jspecify.annotations.NullMarked;
