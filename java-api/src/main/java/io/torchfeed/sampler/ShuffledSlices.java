// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The order of libtorch's {@code DistributedRandomSampler} in pure Java: of a whole epoch, and of
 * what other numbers of ranks left of one. Both take 4 bytes for each sample of the dataset while
 * they are opened, and 4 for each of the rank afterwards.
 */
final class ShuffledSlices {
  private final DistributedRandomSampler plan;
  private final long epoch;

  ShuffledSlices(DistributedRandomSampler plan, long epoch) {
    this.plan = plan;
    this.epoch = epoch;
  }

  /** Opens the plan's part of what the segments left. */
  Cursor open(List<Segment> delivered) {
    int[] list = list(delivered.isEmpty() ? plan.worldSize() : delivered.get(0).worldSize());
    return new PaddedListCursor(
        plan, delivered.isEmpty() ? part(list) : partOfTheRest(list, delivered));
  }

  /**
   * The shuffled list that a number of ranks divides, padding included: numbers from the dataset's
   * size on.
   */
  int[] list(int worldSize) {
    long n = plan.datasetSize();
    long length = Arguments.samplesOfARank(n, worldSize, plan.tail()) * worldSize;
    if (Math.max(n, length) > IndexList.LONGEST) {
      throw new IllegalStateException(
          "an order in Java has at most %d indices, got %d of %s; the plan's own epoch, computed by libtorch, has no such limit"
              .formatted(IndexList.LONGEST, Math.max(n, length), plan));
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
    int[] part = Arrays.copyOfRange(list, plan.rank() * size, plan.rank() * size + size);
    int n = Math.toIntExact(plan.datasetSize());
    for (int i = 0; i < size; i++) {
      if (part[i] >= n) {
        part[i] = ~(part[i] % n);
      }
    }
    return part;
  }

  /** Padding of the new end is the head of the epoch's order. */
  private int[] partOfTheRest(int[] list, List<Segment> delivered) {
    int[] first = firstRest(list, delivered.get(0));
    SlicedRest rest =
        new SlicedRest(first.length, plan.tail(), delivered.subList(1, delivered.size()));
    long size = Arguments.samplesOfARank(rest.size(), plan.worldSize(), plan.tail());
    long start = plan.rank() * size;
    int[] head = head(list, size * plan.worldSize() - rest.size());
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

  /** What the first segment left, without padding, and the samples that were not in its list. */
  private int[] firstRest(int[] list, Segment segment) {
    int n = Math.toIntExact(plan.datasetSize());
    Slices slices = new Slices(list.length, segment, plan.tail());
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
