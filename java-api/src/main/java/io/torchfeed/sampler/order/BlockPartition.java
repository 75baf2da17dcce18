// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.sampler.Tail;
import java.util.function.LongUnaryOperator;

/**
 * A division of a list into rounds of one block per rank. A rest that is too short for a round is
 * cut into one slice per rank, so that sizes differ by at most 1; if a block is longer than a
 * rank's share, the whole list is cut this way.
 */
final class BlockPartition implements IndexPartition {
  private final IndexRanges list;
  private final long orderSize;
  private final long block;
  private final int worldSize;
  private final Tail tail;
  private final long rounds;
  private final long roundsEnd;
  private final long slice;
  private final long extra;

  /**
   * Creates a division.
   *
   * @param orderSize number of positions of the whole order, the first of which serve as padding
   */
  BlockPartition(IndexRanges list, long orderSize, long block, int worldSize, Tail tail) {
    this.list = list;
    this.orderSize = orderSize;
    this.block = block;
    this.worldSize = worldSize;
    this.tail = tail;
    this.rounds = block > list.size() / worldSize ? 0 : list.size() / (block * worldSize);
    this.roundsEnd = rounds * block * worldSize;
    this.slice = (list.size() - roundsEnd) / worldSize;
    this.extra = (list.size() - roundsEnd) % worldSize;
  }

  @Override
  public long size(int rank) {
    return tail == Tail.PAD && extra > 0 ? rounds * block + slice + 1 : own(rank);
  }

  @Override
  public long longest() {
    return size(0);
  }

  @Override
  public long own(int rank) {
    return rounds * block + sliceOf(rank);
  }

  private long sliceOf(int rank) {
    return tail != Tail.DROP && rank < extra ? slice + 1 : slice;
  }

  private long sliceStart(int rank) {
    return roundsEnd + rank * slice + (tail == Tail.DROP ? 0 : Math.min(rank, extra));
  }

  @Override
  public LongUnaryOperator part(int rank) {
    long own = own(rank);
    long padding = Math.max(0, rank - extra);
    return place ->
        place < own ? list.at(inList(rank, place)) : (padding + place - own) % orderSize;
  }

  private long inList(int rank, long place) {
    long inSlice = place - rounds * block;
    return inSlice >= 0
        ? sliceStart(rank) + inSlice
        : (place / block * worldSize + rank) * block + place % block;
  }

  @Override
  public IndexRanges rest(long delivered) {
    IndexRanges.Builder rest = new IndexRanges.Builder();
    if (delivered < rounds * block) {
      long round = delivered / block;
      for (int rank = 0; rank < worldSize; rank++) {
        long start = (round * worldSize + rank) * block;
        rest.add(list, start + delivered % block, start + block);
      }
      rest.add(list, (round + 1) * worldSize * block, list.size());
      return rest.build();
    }
    for (int rank = 0; rank < worldSize; rank++) {
      long end = sliceStart(rank) + sliceOf(rank);
      rest.add(list, Math.min(end, sliceStart(rank) + delivered - rounds * block), end);
    }
    rest.add(list, roundsEnd + worldSize * slice + (tail == Tail.DROP ? 0 : extra), list.size());
    return rest.build();
  }
}
