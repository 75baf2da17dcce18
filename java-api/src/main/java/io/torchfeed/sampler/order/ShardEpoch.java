// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.internal.CounterRandom;
import java.util.Arrays;

/** One epoch over some shards of a dataset. Caches the current window. Not thread-safe. */
final class ShardEpoch {
  private static final long SHARD_SALT = 0x736861726473L; // "shards"
  private static final long WINDOW_SALT = 0x77696E646F77L; // "window"

  private final long[] firstIndices;
  private final int[] shards;
  private final long[] starts;
  private final int windowShards;
  private final boolean shuffled;
  private final long windowSeed;
  private long windowStart;
  private long windowEnd;
  private SeekablePermutation inWindow = SeekablePermutation.of(1, 0, 0);

  /**
   * Creates an epoch.
   *
   * @param firstIndices the first index of each shard of the dataset, and the end of the last
   * @param shards the shards of this epoch
   */
  ShardEpoch(
      long[] firstIndices,
      int[] shards,
      int windowShards,
      boolean shuffled,
      long seed,
      long epoch) {
    this.firstIndices = firstIndices;
    this.windowShards = windowShards;
    this.shuffled = shuffled;
    this.windowSeed = CounterRandom.key(WINDOW_SALT, seed, epoch);
    this.shards = shards.clone();
    if (shuffled && shards.length > 0) {
      SeekablePermutation order = SeekablePermutation.of(shards.length, seed ^ SHARD_SALT, epoch);
      Arrays.setAll(this.shards, i -> shards[(int) order.at(i)]);
    }
    this.starts = new long[shards.length + 1];
    for (int i = 0; i < shards.length; i++) {
      int shard = this.shards[i];
      starts[i + 1] = starts[i] + firstIndices[shard + 1] - firstIndices[shard];
    }
  }

  /** Adds the windows, in order, as pieces of a list in which this epoch starts at {@code base}. */
  void addWindows(IndexRanges.Builder windows, long base) {
    for (long first = 0; first < shards.length; first += windowShards) {
      int end = (int) Math.min(shards.length, first + windowShards);
      windows.add(base + starts[(int) first], base + starts[end]);
    }
  }

  /** Returns the index at a position of the epoch. */
  long indexAt(long position) {
    long place = shuffled ? shuffledPlace(position) : position;
    int ordinal = ordinalAt(place);
    return firstIndices[shards[ordinal]] + place - starts[ordinal];
  }

  private long shuffledPlace(long position) {
    if (position < windowStart || position >= windowEnd) {
      open(ordinalAt(position) / windowShards);
    }
    return windowStart + inWindow.at(position - windowStart);
  }

  private void open(int window) {
    int first = window * windowShards;
    windowStart = starts[first];
    windowEnd = starts[(int) Math.min(shards.length, (long) first + windowShards)];
    inWindow = SeekablePermutation.of(windowEnd - windowStart, windowSeed, window);
  }

  /** Returns the ordinal of the shard that holds a position, which is therefore not empty. */
  private int ordinalAt(long position) {
    int found = Arrays.binarySearch(starts, position);
    if (found < 0) {
      return -found - 2;
    }
    while (starts[found + 1] == position) {
      found++;
    }
    return found;
  }
}
