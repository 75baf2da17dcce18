// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The time that a run has taken, by a clock that never goes back. When ranks meet, all continue
 * from the time of the one that has run longest.
 */
final class RunTime {
  private final @Nullable Duration limit;
  private final LongSupplier nanos;
  private long start;

  /**
   * Begins with 0.
   *
   * @param limit of the run; null for none
   * @param nanos as {@link System#nanoTime}
   */
  RunTime(@Nullable Duration limit, LongSupplier nanos) {
    this.limit = limit;
    this.nanos = nanos;
    start = nanos.getAsLong();
  }

  /** Returns the time in nanoseconds. */
  long elapsed() {
    return nanos.getAsLong() - start;
  }

  /** Continues from a time. */
  void set(long elapsed) {
    start = nanos.getAsLong() - elapsed;
  }

  boolean isLimited() {
    return limit != null;
  }

  /** Returns whether the limit is reached. */
  boolean isOver() {
    return limit != null && elapsed() >= limit.toNanos();
  }
}
