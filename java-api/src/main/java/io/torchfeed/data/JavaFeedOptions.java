// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** What the batches depend on, and how they are made. */
record JavaFeedOptions(
    Dataset dataset,
    BatchLayout layout,
    int batchRows,
    int workers,
    FailurePolicy onFailure,
    @Nullable Duration timeout,
    WorkerHooks hooks,
    AtomicInteger workerNumbers,
    long seed,
    LoaderMeter meter) {}
