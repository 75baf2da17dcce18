// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import io.torchfeed.sampler.order.SeekablePermutation;

/**
 * The samples of an epoch, fewer than 2<sup>31</sup>, still to be delivered, in the epoch's random
 * base order. They are renumbered from 0; past the end the epoch's whole order repeats, as padding.
 */
final class RemainingSamples {
  private static final int PIECE = 1024; // read in bulk, into a buffer that fits the cache

  private final SeekablePermutation order;
  private final long datasetSize;
  private final long[] head; // positions in the base order, ascending
  private final long tail; // every sample from this position on is left

  private RemainingSamples(SeekablePermutation order, long datasetSize, long[] head, long tail) {
    this.order = order;
    this.datasetSize = datasetSize;
    this.head = head;
    this.tail = tail;
  }

  /** Returns the whole epoch. */
  static RemainingSamples whole(long datasetSize, long seed, long epoch) {
    SeekablePermutation order = SeekablePermutation.of(Math.max(1, datasetSize), seed, epoch);
    return new RemainingSamples(order, datasetSize, new long[0], 0);
  }

  /** Returns the number of samples left. */
  long size() {
    return head.length + datasetSize - tail;
  }

  /**
   * Returns the dataset indices at {@code count} positions; from {@link #size} on they are padding.
   */
  int[] samples(long first, int count) {
    int[] samples = new int[count];
    long[] piece = new long[Math.min(count, PIECE)];
    int done = 0;
    while (done < count) {
      long position = first + done;
      long start = position < size() ? place(position) : (position - size()) % datasetSize;
      long end = position >= size() || position >= head.length ? datasetSize : start + 1;
      int length = (int) Math.min(Math.min(piece.length, count - done), end - start);
      order.at(start, 1, piece, 0, length);
      for (int i = 0; i < length; i++) {
        samples[done + i] = (int) piece[i];
      }
      done += length;
    }
    return samples;
  }

  /**
   * Returns the samples left once all positions before {@code end}, except {@code kept}, are
   * delivered.
   *
   * @param kept positions below {@code end}, ascending, relative to {@code firstOfKept}
   * @param end at most {@link #size}
   */
  RemainingSamples after(int[] kept, long firstOfKept, long end) {
    int ofHead = (int) Math.max(0, head.length - end);
    long[] places = new long[kept.length + ofHead];
    for (int i = 0; i < kept.length; i++) {
      places[i] = place(firstOfKept + kept[i]);
    }
    System.arraycopy(head, head.length - ofHead, places, kept.length, ofHead);
    return new RemainingSamples(order, datasetSize, places, tail + Math.max(0, end - head.length));
  }

  private long place(long position) {
    return position < head.length ? head[(int) position] : tail + position - head.length;
  }
}
