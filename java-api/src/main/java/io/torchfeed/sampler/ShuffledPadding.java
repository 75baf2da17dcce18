// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Arrays;
import java.util.function.LongPredicate;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Which positions of a rank of libtorch's {@code DistributedRandomSampler} are padding. The C++
 * class forgets it: it shuffles the padded list. So the first question shuffles once more, in Java.
 */
final class ShuffledPadding implements LongPredicate {
  private final long datasetSize;
  private final int worldSize;
  private final int rank;
  private final long sizeOfARank;
  private final long epoch;
  private long @Nullable [] positions;

  ShuffledPadding(long datasetSize, int worldSize, int rank, long sizeOfARank, long epoch) {
    this.datasetSize = datasetSize;
    this.worldSize = worldSize;
    this.rank = rank;
    this.sizeOfARank = sizeOfARank;
    this.epoch = epoch;
  }

  @Override
  public boolean test(long position) {
    if (sizeOfARank * worldSize <= datasetSize) {
      return false;
    }
    return Arrays.binarySearch(positions(), position) >= 0;
  }

  private void requireListable() {
    long length = sizeOfARank * worldSize;
    if (length > LibtorchShuffle.LONGEST) {
      throw new IllegalStateException(
          "which positions are padding is known for lists of at most %d indices, got %d; Tail.DROP does not pad"
              .formatted(LibtorchShuffle.LONGEST, length));
    }
  }

  private synchronized long[] positions() {
    if (positions == null) {
      requireListable();
      int[] list = LibtorchShuffle.shuffled(Math.toIntExact(sizeOfARank * worldSize), epoch);
      int first = Math.toIntExact(rank * sizeOfARank);
      positions =
          IntStream.range(0, Math.toIntExact(sizeOfARank))
              .filter(position -> list[first + position] >= datasetSize)
              .asLongStream()
              .toArray();
    }
    return positions;
  }
}
