// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static io.torchfeed.data.DataLoaderBuilder.requireRange;

import org.jspecify.annotations.Nullable;

/**
 * How many batches are asked for ahead of the consumer.
 *
 * <p>Unless the user says how many it is two a worker and two more, since a thread that the system
 * wakes may be late by a millisecond; small batches are gathered in less, so of those there are up
 * to eight.
 *
 * @param least so many, if their memory allows it
 * @param most so many, where batches are small
 * @param bytes most memory that they may take, unless one takes more
 */
record Prefetch(int least, int most, long bytes) {
  private static final int LONGEST = 65_536;
  private static final int OF_SMALL_BATCHES = 8;
  private static final long SMALL_BATCHES_BYTES = 8L << 20;

  /**
   * What the options say.
   *
   * @throws IllegalArgumentException if an option is out of range
   */
  static Prefetch of(@Nullable Integer batches, @Nullable Long bytes, int workers) {
    if (bytes != null && bytes < 1) {
      throw new IllegalArgumentException("prefetchBytes must be at least 1, got " + bytes);
    }
    long limit = bytes == null ? Long.MAX_VALUE : bytes;
    if (batches != null) {
      requireRange("prefetch", batches, 1, LONGEST);
      return new Prefetch(batches, batches, limit);
    }
    if (workers == 0) {
      return new Prefetch(1, 1, limit);
    }
    int least = 2 * workers + 2;
    return new Prefetch(least, Math.max(least, OF_SMALL_BATCHES), limit);
  }

  /** The number for batches that take so much memory each. */
  int batches(long batchBytes) {
    long each = Math.max(1, batchBytes);
    long wanted = Math.max(least, Math.min(most, SMALL_BATCHES_BYTES / each));
    return (int) Math.min(wanted, Math.max(1, bytes / each));
  }
}
