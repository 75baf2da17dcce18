// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.cursor;

import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Plan;

/** Samples at 64 evenly spread positions of an order, the answers to {@link Plan#probe}. */
public final class OrderProbe {
  /** The maximum size of an order that is probed if this requires computing its list. */
  public static final long MAX_LIST = 1L << 24;

  private static final int COUNT = 64;
  private static final long[] NONE = {};

  private OrderProbe() {}

  /** Returns the positions floor(j total / 64) for j in [0, 64); none for a total of 0. */
  public static long[] positions(long total) {
    if (total == 0) {
      return NONE;
    }
    long[] positions = new long[COUNT];
    for (int j = 0; j < COUNT; j++) {
      positions[j] = j * (total / COUNT) + j * (total % COUNT) / COUNT;
    }
    return positions;
  }

  /** Reads the probes of an order that may need its list; none if it is too long. */
  public static long[] ofList(Plan<Cursor> plan, long size, long epoch) {
    Checks.requireEpoch(epoch);
    return size > MAX_LIST ? NONE : of(plan, size, epoch);
  }

  /** Reads the probes of an order. */
  public static long[] of(Plan<Cursor> plan, long size, long epoch) {
    long[] probes = positions(size);
    try (Cursor cursor = Continuation.requireCursor(plan.epoch(epoch), plan)) {
      for (int j = 0; j < probes.length; j++) {
        cursor.seek(probes[j]);
        cursor.next(probes, j, 1);
      }
    }
    return probes;
  }
}
