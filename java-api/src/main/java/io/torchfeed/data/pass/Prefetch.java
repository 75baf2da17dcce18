// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import org.jspecify.annotations.Nullable;

/**
 * The number of batches that are requested ahead of the consumer.
 *
 * <p>By default, the number is two per worker plus two, since a thread that the operating system
 * wakes may be a millisecond late; small batches are gathered in less time than that, so up to
 * eight of them are requested.
 *
 * @param least the minimum number of batches, memory permitting
 * @param most the maximum number of batches, reached where batches are small
 * @param bytes the maximum memory of these batches; a single batch may exceed it
 */
public record Prefetch(int least, int most, long bytes) {
  private static final int MAX_BATCHES = 65_536;
  private static final int OF_SMALL_BATCHES = 8;
  private static final long SMALL_BATCHES_BYTES = 8L << 20;

  /**
   * Returns the prefetch that the options describe.
   *
   * @throws IllegalArgumentException if an option is out of range
   */
  public static Prefetch of(@Nullable Integer batches, @Nullable Long bytes, int workers) {
    if (bytes != null && bytes < 1) {
      throw new IllegalArgumentException("prefetchBytes must be at least 1, got " + bytes);
    }
    long limit = bytes == null ? Long.MAX_VALUE : bytes;
    if (batches != null) {
      if (batches < 1 || batches > MAX_BATCHES) {
        throw new IllegalArgumentException(
            "prefetch must be in [1, %d], got %d".formatted(MAX_BATCHES, batches));
      }
      return new Prefetch(batches, batches, limit);
    }
    if (workers == 0) {
      return new Prefetch(1, 1, limit);
    }
    int least = 2 * workers + 2;
    return new Prefetch(least, Math.max(least, OF_SMALL_BATCHES), limit);
  }

  /** Returns the number of batches of the given size, in bytes each. */
  public int batches(long batchBytes) {
    long each = Math.max(1, batchBytes);
    long wanted = Math.max(least, Math.min(most, SMALL_BATCHES_BYTES / each));
    return (int) Math.min(wanted, Math.max(1, bytes / each));
  }
}
