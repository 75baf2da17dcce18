// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * Which rank gets which of several consecutive wholes: rounds of a block of them a rank, or one
 * contiguous part a rank.
 *
 * @param block number of wholes in a block, {@link #CONTIGUOUS} for parts
 */
record ShardRule(int block) {
  static final int CONTIGUOUS = 0;

  /**
   * The rank of each whole.
   *
   * @param starts where each starts, counted in samples, and the end of the last
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

  /** So no end of a part is more than half a shard away from where even parts would end. */
  private static int byMiddle(long start, long end, long total, int worldSize) {
    double middle = start / 2.0 + end / 2.0;
    return total == 0 ? 0 : (int) Math.min(worldSize - 1L, (long) (middle / total * worldSize));
  }
}
