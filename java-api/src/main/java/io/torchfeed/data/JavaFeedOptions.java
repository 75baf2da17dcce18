// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.RowSpec;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** What the batches depend on, and how they are made. */
record JavaFeedOptions(
    Dataset dataset,
    List<RowSpec> columns,
    int batchRows,
    int workers,
    boolean inOrder,
    FailurePolicy onFailure,
    @Nullable Duration timeout,
    WorkerHooks hooks,
    AtomicInteger workerNumbers,
    long seed) {}
