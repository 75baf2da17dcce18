// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import io.torchfeed.internal.IndexList;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.cursor.Segments;
import io.torchfeed.sampler.cursor.Stride;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The order of libtorch's {@code DistributedRandomSampler} in pure Java: of a whole epoch, or of
 * the rest that other numbers of ranks left of one. Either takes 4 bytes per sample of the dataset
 * while it is opened, and 4 bytes per sample of the rank afterwards.
 */
final class ShuffledSlices {
  private final DistributedRandomSampler plan;
  private final long epoch;

  ShuffledSlices(DistributedRandomSampler plan, long epoch) {
    this.plan = plan;
    this.epoch = epoch;
  }

  /** Opens the plan's part of the samples that the segments left. */
  Cursor open(List<EpochSegment> delivered) {
    if (delivered.isEmpty()) {
      return new PaddedListCursor(plan, part(list(plan.part().worldSize())));
    }
    int worldSize = delivered.get(0).worldSize();
    long n = plan.datasetSize();
    Segments.requireAtMost(delivered.get(0), Stride.sizeOfLongestRank(n, worldSize, plan.tail()));
    if (worldSize >= n) { // one sample per rank: nothing is left, and the list may be long
      new RemainingSlices(0, plan.tail(), delivered.subList(1, delivered.size()));
      return new PaddedListCursor(plan, new int[0]);
    }
    return new PaddedListCursor(plan, partOfTheRest(list(worldSize), delivered));
  }

  /**
   * Returns the shuffled list that {@code worldSize} ranks divide, including padding: values from
   * the dataset's size on.
   */
  int[] list(int worldSize) {
    long n = plan.datasetSize();
    long length = Stride.sizeOfLongestRank(n, worldSize, plan.tail()) * worldSize;
    if (Math.max(n, length) > IndexList.MAX_SIZE) {
      throw new IllegalStateException(
          "an order in Java has at most %d indices, got %d of %s; the plan's own epoch, computed by libtorch, has no such limit"
              .formatted(IndexList.MAX_SIZE, Math.max(n, length), plan));
    }
    try {
      return LibtorchShuffle.shuffled((int) length, epoch);
    } catch (OutOfMemoryError e) {
      throw new IllegalStateException(
          "the index list of %s takes %d bytes of heap; raise -Xmx"
              .formatted(plan, length * Integer.BYTES),
          e);
    }
  }

  private int[] part(int[] list) {
    int size = Math.toIntExact(plan.size());
    int[] part =
        Arrays.copyOfRange(list, plan.part().rank() * size, plan.part().rank() * size + size);
    int n = Math.toIntExact(plan.datasetSize());
    for (int i = 0; i < size; i++) {
      if (part[i] >= n) {
        part[i] = ~(part[i] % n);
      }
    }
    return part;
  }

  /**
   * Returns the plan's part of the rest; the new end is padded with the head of the epoch's order.
   */
  private int[] partOfTheRest(int[] list, List<EpochSegment> delivered) {
    int[] first = firstRest(list, delivered.get(0));
    RemainingSlices rest =
        new RemainingSlices(first.length, plan.tail(), delivered.subList(1, delivered.size()));
    long size = Stride.sizeOfLongestRank(rest.size(), plan.part().worldSize(), plan.tail());
    long start = plan.part().rank() * size;
    int[] head = head(list, size * plan.part().worldSize() - rest.size());
    int[] part = new int[Math.toIntExact(size)];
    for (int i = 0; i < part.length; i++) {
      long at = start + i;
      part[i] =
          at < rest.size()
              ? first[(int) rest.position(at)]
              : ~head[(int) ((at - rest.size()) % head.length)];
    }
    return part;
  }

  /**
   * Returns the samples that the first segment left, without padding, and the samples that were not
   * in its list.
   */
  private int[] firstRest(int[] list, EpochSegment segment) {
    int n = Math.toIntExact(plan.datasetSize());
    RankSlices slices = new RankSlices(list.length, segment, plan.tail());
    IntStream tails =
        IntStream.range(0, (int) slices.left())
            .map(index -> list[(int) slices.position(index)])
            .filter(sample -> sample < n);
    return IntStream.concat(tails, IntStream.range(list.length, Math.max(list.length, n)))
        .toArray();
  }

  private int[] head(int[] list, long length) {
    return Arrays.stream(list)
        .filter(sample -> sample < plan.datasetSize())
        .limit(Math.max(0, length))
        .toArray();
  }
}
