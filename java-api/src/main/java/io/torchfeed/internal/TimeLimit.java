// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static java.util.Objects.requireNonNull;

import java.time.Duration;

/** Checks of the limits that users set for waiting. */
public final class TimeLimit {
  /** More than anyone waits; it can be added to a clock of nanoseconds, and counted in them. */
  static final Duration MAX = Duration.ofDays(36_500);

  private TimeLimit() {}

  /**
   * Returns the limit, or the nearest one that can be counted in nanoseconds.
   *
   * @param name the limit's name in messages
   */
  public static Duration of(String name, Duration limit) {
    requireNonNull(limit, name);
    if (limit.isNegative()) {
      return limit.compareTo(MAX.negated()) < 0 ? MAX.negated() : limit;
    }
    return limit.compareTo(MAX) > 0 ? MAX : limit;
  }

  /** Like {@link #of}, but throws if the limit is negative. */
  public static Duration notNegative(String name, Duration limit) {
    Duration counted = of(name, limit);
    if (counted.isNegative()) {
      throw new IllegalArgumentException(name + " must be at least 0, got " + limit);
    }
    return counted;
  }

  /** Like {@link #of}, but throws if the limit is less than a millisecond. */
  public static Duration atLeastOneMilli(String name, Duration limit) {
    Duration counted = of(name, limit);
    if (counted.toMillis() < 1) {
      throw new IllegalArgumentException(name + " must be at least 1 ms, got " + limit);
    }
    return counted;
  }
}
