// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.task.BatchTask;
import io.torchfeed.data.task.IndexRequest;
import io.torchfeed.data.task.TaskOptions;
import java.time.Duration;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The options of an engine of JVM threads: for the content of the batches, and for their loading.
 *
 * @param tasks creates the task that fills the batch of an index list; null for streams, whose
 *     requests are tasks
 */
public record JavaEngineOptions(
    @Nullable Function<IndexRequest, BatchTask> tasks,
    TaskOptions content,
    int batchRows,
    int workers,
    boolean inOrder,
    @Nullable Duration timeout) {}
