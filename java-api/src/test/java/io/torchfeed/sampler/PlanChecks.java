// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;

/** What every plan promises, checked by reading it in the obvious way. */
final class PlanChecks {
  private PlanChecks() {}

  /** A rank's plan for a world size. */
  @FunctionalInterface
  interface Division {
    DistributedSampler of(int worldSize, int rank);
  }

  /** Reads the epoch in one piece, then from every position on, and by single indices backwards. */
  static void seekEqualsSkipAtEveryPosition(Sampler plan, long epoch) {
    long[] all = Cursors.indices(plan, epoch);
    assertThat((long) all.length).isEqualTo(plan.size());
    try (Cursor moved = plan.epoch(epoch)) {
      for (int position = all.length; position >= 0; position--) {
        moved.seek(position);
        assertThat(moved.remaining()).isEqualTo(all.length - position);
        assertThat(Cursors.next(moved, 5))
            .isEqualTo(Arrays.copyOfRange(all, position, Math.min(all.length, position + 5)));
      }
    }
    for (int position = 0; position <= all.length; position += 1 + all.length / 7) {
      try (Cursor restored = plan.epoch(epoch)) {
        restored.seek(position);
        assertThat(Cursors.rest(restored)).isEqualTo(Arrays.copyOfRange(all, position, all.length));
      }
    }
  }

  /** Ranks that stride over an order take turns, so together they read it once. */
  static void ranksTakeTurns(Sampler order, long epoch, int worldSize) {
    long[] all = Cursors.indices(order, epoch);
    long[] merged = new long[all.length];
    for (int rank = 0; rank < worldSize; rank++) {
      long[] part = Cursors.indices(new StridedSampler(order, worldSize, rank, Tail.UNEVEN), epoch);
      for (int i = 0; i < part.length; i++) {
        merged[rank + i * worldSize] = part[i];
      }
    }
    assertThat(merged).isEqualTo(all);
  }

  static void epochsBelowZeroAreRefused(Sampler plan) {
    for (long epoch : new long[] {-1, Long.MIN_VALUE}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan.epoch(epoch))
          .withMessage("epoch must be at least 0, got " + epoch);
    }
  }

  /** All ranks' indices that are not padding, through several world sizes, sorted. */
  static long[] delivered(Division division, long epoch, List<Segment> segments, int worldSize) {
    List<long[]> parts = new ArrayList<>();
    for (int i = 0; i < segments.size(); i++) {
      Segment segment = segments.get(i);
      for (int rank = 0; rank < segment.worldSize(); rank++) {
        DistributedSampler plan = division.of(segment.worldSize(), rank);
        parts.add(read(plan, epoch, segments.subList(0, i), segment.deliveredByEachRank()));
      }
    }
    for (int rank = 0; rank < worldSize; rank++) {
      parts.add(read(division.of(worldSize, rank), epoch, segments, Long.MAX_VALUE));
    }
    return parts.stream().flatMapToLong(LongStream::of).sorted().toArray();
  }

  private static long[] read(DistributedSampler plan, long epoch, List<Segment> before, long most) {
    try (Cursor cursor = plan.resume(epoch, before)) {
      int count = (int) Math.min(most, cursor.remaining());
      long[] read = Cursors.next(cursor, count);
      long[] own = new long[count];
      int kept = 0;
      for (int i = 0; i < count; i++) {
        if (!cursor.isPadding(i)) {
          own[kept++] = read[i];
        }
      }
      return Arrays.copyOf(own, kept);
    }
  }

  /** What the longest rank can still deliver after some segments. */
  static long longest(Division division, long epoch, List<Segment> segments, int worldSize) {
    long longest = 0;
    for (int rank = 0; rank < worldSize; rank++) {
      try (Cursor cursor = division.of(worldSize, rank).resume(epoch, segments)) {
        longest = Math.max(longest, cursor.remaining());
      }
    }
    return longest;
  }

  /** Every change between two of 1..17 ranks, at the start, within and at the end of an epoch. */
  static void anyTwoWorldSizesDeliver(Division division, long epoch, long[] sortedSamples) {
    for (int before = 1; before <= 17; before++) {
      long longest = longest(division, epoch, List.of(), before);
      for (int after = 1; after <= 17; after++) {
        for (long steps : new long[] {0, longest / 3, longest}) {
          assertThat(delivered(division, epoch, List.of(new Segment(before, steps)), after))
              .isEqualTo(sortedSamples);
        }
      }
    }
  }

  static long[] sorted(Sampler order, long epoch) {
    return LongStream.of(Cursors.indices(order, epoch)).sorted().toArray();
  }

  /** Pearson's statistic. */
  static double chiSquare(long[] counts, double[] expected) {
    double sum = 0;
    for (int i = 0; i < counts.length; i++) {
      if (expected[i] > 0) {
        sum += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
      }
    }
    return sum;
  }
}
