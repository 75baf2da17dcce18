// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import org.jspecify.annotations.Nullable;

/**
 * How far a shard of a stream has been delivered in an epoch.
 *
 * @param shard the number of the shard, at least 0
 * @param position where it goes on, in the words of the dataset; null for its start
 * @param samples how many samples lie before, those that failed included; at least 0
 * @param isEnded whether nothing is left of it
 */
public record ShardPosition(int shard, @Nullable String position, long samples, boolean isEnded) {
  /**
   * A position.
   *
   * @param shard the number of the shard, at least 0
   * @param position where it goes on; null for its start
   * @param samples how many samples lie before, at least 0
   * @param isEnded whether nothing is left of it
   * @throws IllegalArgumentException if a number is negative, or there are samples before the start
   */
  public ShardPosition {
    if (shard < 0 || samples < 0 || (position == null && samples > 0)) {
      throw new IllegalArgumentException(
          "shard and samples must be at least 0, and samples 0 at the start, got %d, %d and %s"
              .formatted(shard, samples, position));
    }
  }

  /** The start of a shard. */
  static ShardPosition startOf(int shard) {
    return new ShardPosition(shard, null, 0, false);
  }
}
