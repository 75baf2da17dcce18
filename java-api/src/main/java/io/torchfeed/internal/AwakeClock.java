// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.util.OptionalLong;
import java.util.function.LongSupplier;

/**
 * A clock that stands still while its reader does: the wait for another process must not count the
 * time in which this one was stopped, with its job or its machine, or got no processor.
 *
 * <p>The reader looks at it regularly; the time between two looks counts up to a limit. Not
 * thread-safe.
 */
public final class AwakeClock {
  private final LongSupplier nanos;
  private final long limit;
  private long last;
  private long awake;
  private OptionalLong late = OptionalLong.empty();

  /**
   * Creates a clock.
   *
   * @param limit the nanoseconds that count between two looks, more than the reader needs to be on
   *     time
   * @param nanos the time that passes also while the reader stands still
   */
  public AwakeClock(long limit, LongSupplier nanos) {
    this.limit = limit;
    this.nanos = nanos;
    this.last = nanos.getAsLong();
  }

  /** Returns the nanoseconds that count so far, from 0 on; this is a look. */
  public long now() {
    long now = nanos.getAsLong();
    long passed = now - last;
    last = now;
    if (passed > limit) {
      awake += limit;
      late = OptionalLong.of(awake);
    } else {
      awake += passed;
    }
    return awake;
  }

  /** Returns whether a look was late, and no more than this time counts since then. */
  public boolean wasLate(long within) {
    return late.isPresent() && awake - late.getAsLong() <= within;
  }
}
