// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * The samples of an epoch, fewer than 2<sup>31</sup>, that are still to be delivered, in the
 * epoch's random base order. They are numbered anew from 0; behind the end the epoch's whole order
 * begins again, as padding.
 */
final class RestOfEpoch {
  private static final int PIECE = 1024; // read in bulk, in a buffer that the cache holds

  private final SeekablePermutation order;
  private final long datasetSize;
  private final long[] head; // places in the base order, ascending
  private final long tail; // the place from which on everything is left

  private RestOfEpoch(SeekablePermutation order, long datasetSize, long[] head, long tail) {
    this.order = order;
    this.datasetSize = datasetSize;
    this.head = head;
    this.tail = tail;
  }

  /** The whole epoch. */
  static RestOfEpoch whole(long datasetSize, long seed, long epoch) {
    SeekablePermutation order = SeekablePermutation.of(Math.max(1, datasetSize), seed, epoch);
    return new RestOfEpoch(order, datasetSize, new long[0], 0);
  }

  /** The number of samples that are left. */
  long size() {
    return head.length + datasetSize - tail;
  }

  /** The dataset indices at so many positions; from {@link #size} on they are padding. */
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
   * What is left when of the positions before {@code end} only {@code kept} are.
   *
   * @param kept positions below {@code end}, ascending, counted from {@code firstOfKept}
   * @param end at most {@link #size}
   */
  RestOfEpoch after(int[] kept, long firstOfKept, long end) {
    int ofHead = (int) Math.max(0, head.length - end);
    long[] places = new long[kept.length + ofHead];
    for (int i = 0; i < kept.length; i++) {
      places[i] = place(firstOfKept + kept[i]);
    }
    System.arraycopy(head, head.length - ofHead, places, kept.length, ofHead);
    return new RestOfEpoch(order, datasetSize, places, tail + Math.max(0, end - head.length));
  }

  private long place(long position) {
    return position < head.length ? head[(int) position] : tail + position - head.length;
  }
}
