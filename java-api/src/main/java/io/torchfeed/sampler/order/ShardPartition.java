// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.sampler.Tail;
import java.util.Arrays;
import java.util.function.LongUnaryOperator;

/** A partition of a list that assigns its pieces whole. */
final class ShardPartition implements IndexPartition {
  private final IndexRanges list;
  private final int[] rankOfPiece;
  private final Tail tail;
  private final long[] held;
  private final long shortest;
  private final long longest;

  /**
   * Creates a partition.
   *
   * @param rankOfPiece the rank of each piece of the list
   */
  ShardPartition(IndexRanges list, int[] rankOfPiece, int worldSize, Tail tail) {
    this.list = list;
    this.rankOfPiece = rankOfPiece;
    this.tail = tail;
    this.held = new long[worldSize];
    for (int piece = 0; piece < rankOfPiece.length; piece++) {
      held[rankOfPiece[piece]] += list.before(piece + 1) - list.before(piece);
    }
    this.shortest = Arrays.stream(held).min().orElseThrow();
    this.longest = Arrays.stream(held).max().orElseThrow();
  }

  @Override
  public long size(int rank) {
    return switch (tail) {
      case PAD -> longest;
      case DROP -> shortest;
      case UNEVEN -> held[rank];
    };
  }

  @Override
  public long longest() {
    return tail == Tail.DROP ? shortest : longest;
  }

  @Override
  public long own(int rank) {
    return tail == Tail.DROP ? shortest : held[rank];
  }

  @Override
  public LongUnaryOperator part(int rank) {
    IndexRanges.Builder builder = new IndexRanges.Builder();
    for (int piece = 0; piece < rankOfPiece.length; piece++) {
      if (rankOfPiece[piece] == rank) {
        builder.add(list, list.before(piece), list.before(piece + 1));
      }
    }
    IndexRanges part = builder.build();
    // Padding repeats the rank's own samples, so that it reads no other shards.
    return part.size() > 0
        ? place -> part.at(place % part.size())
        : place -> list.at(place % list.size());
  }

  @Override
  public IndexRanges rest(long delivered) {
    long[] left = new long[held.length];
    Arrays.fill(left, delivered);
    IndexRanges.Builder rest = new IndexRanges.Builder();
    for (int piece = 0; piece < rankOfPiece.length; piece++) {
      int rank = rankOfPiece[piece];
      long start = list.before(piece);
      long end = list.before(piece + 1);
      long taken = Math.min(left[rank], end - start);
      left[rank] -= taken;
      rest.add(list, start + taken, end);
    }
    return rest.build();
  }
}
