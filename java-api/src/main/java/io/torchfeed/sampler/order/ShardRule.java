// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

/**
 * A rule that assigns consecutive whole units to ranks: blocks of units round-robin, or one
 * contiguous part per rank.
 *
 * @param block number of units in a block, {@link #CONTIGUOUS} for parts
 */
record ShardRule(int block) {
  static final int CONTIGUOUS = 0;

  /**
   * Returns the rank of each unit.
   *
   * @param starts the start of each unit, counted in samples, and the end of the last
   */
  int[] ranks(long[] starts, int worldSize) {
    int[] ranks = new int[starts.length - 1];
    for (int i = 0; i < ranks.length; i++) {
      ranks[i] =
          block == CONTIGUOUS
              ? byMiddle(starts[i], starts[i + 1], starts[ranks.length], worldSize)
              : i / block % worldSize;
    }
    return ranks;
  }

  /**
   * Returns the rank in whose even share the middle lies, so that no part ends more than half a
   * shard away from where an even part would.
   */
  private static int byMiddle(long start, long end, long total, int worldSize) {
    double middle = start / 2.0 + end / 2.0;
    return total == 0 ? 0 : (int) Math.min(worldSize - 1L, (long) (middle / total * worldSize));
  }
}
