// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.WorkerHooks;
import io.torchfeed.data.task.IndexTasks;
import io.torchfeed.data.task.TaskOptions;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The options of an engine of JVM threads: for the content of the batches, and for their loading.
 * The tasks are null for streams, whose requests are tasks.
 */
public record JavaEngineOptions(
    @Nullable IndexTasks tasks,
    TaskOptions content,
    int batchRows,
    int workers,
    boolean inOrder,
    @Nullable Duration timeout,
    WorkerHooks hooks,
    AtomicInteger workerNumbers) {}
