// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** What the batches depend on, and how they are made; streams bring tasks that know their data. */
record JavaFeedOptions(
    @Nullable Dataset dataset,
    BatchLayout layout,
    int batchRows,
    int workers,
    boolean inOrder,
    FailurePolicy onFailure,
    @Nullable Duration timeout,
    WorkerHooks hooks,
    AtomicInteger workerNumbers,
    long seed,
    LoaderMeter meter) {

  /** Tells the hook that a worker ends; what the hook throws then reaches nobody, by contract. */
  @SuppressWarnings("EmptyCatch")
  void stopQuietly(int worker) {
    try {
      hooks.stop(worker);
    } catch (Throwable ignored) {
    }
  }
}
