// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.order.StridedSampler;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;

/** Checks of the promises of every plan, by reading it naively. */
public final class DivisionChecks {
  private DivisionChecks() {}

  /** A rank's plan for a world size. */
  @FunctionalInterface
  public interface Division {
    Sampler of(Part part);
  }

  /** Reads the epoch in one call, then from every position, and index by index backwards. */
  public static void seekEqualsSkipAtEveryPosition(Sampler plan, long epoch) {
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

  /** Checks that ranks striding over an order take turns, so together they read it once. */
  public static void ranksTakeTurns(Sampler order, long epoch, int worldSize) {
    long[] all = Cursors.indices(order, epoch);
    long[] merged = new long[all.length];
    for (int rank = 0; rank < worldSize; rank++) {
      long[] part =
          Cursors.indices(
              StridedSampler.of(order, new Part(worldSize, rank)).withTail(Tail.UNEVEN), epoch);
      for (int i = 0; i < part.length; i++) {
        merged[rank + i * worldSize] = part[i];
      }
    }
    assertThat(merged).isEqualTo(all);
  }

  public static void negativeEpochsAreRefused(Sampler plan) {
    for (long epoch : new long[] {-1, Long.MIN_VALUE}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan.epoch(epoch))
          .withMessage("epoch must be at least 0, got " + epoch);
    }
  }

  /** Returns the indices of all ranks without padding, through several world sizes, sorted. */
  public static long[] delivered(
      Division division, long epoch, List<EpochSegment> segments, int worldSize) {
    List<long[]> parts = new ArrayList<>();
    for (int i = 0; i < segments.size(); i++) {
      EpochSegment segment = segments.get(i);
      for (int rank = 0; rank < segment.worldSize(); rank++) {
        Sampler plan = division.of(new Part(segment.worldSize(), rank));
        parts.add(read(plan, epoch, segments.subList(0, i), segment.deliveredByEachRank()));
      }
    }
    for (int rank = 0; rank < worldSize; rank++) {
      parts.add(read(division.of(new Part(worldSize, rank)), epoch, segments, Long.MAX_VALUE));
    }
    return parts.stream().flatMapToLong(LongStream::of).sorted().toArray();
  }

  private static long[] read(Sampler plan, long epoch, List<EpochSegment> before, long most) {
    try (Cursor cursor = plan.resume(epoch, before)) {
      int count = (int) Math.min(most, cursor.remaining());
      long start = cursor.position();
      long[] read = Cursors.next(cursor, count);
      long[] own = new long[count];
      int kept = 0;
      for (int i = 0; i < count; i++) {
        if (!cursor.isPadding(start + i)) {
          own[kept++] = read[i];
        }
      }
      return Arrays.copyOf(own, kept);
    }
  }

  /** Returns the number of indices that the longest rank has left after the segments. */
  public static long longest(
      Division division, long epoch, List<EpochSegment> segments, int worldSize) {
    long longest = 0;
    for (int rank = 0; rank < worldSize; rank++) {
      try (Cursor cursor = division.of(new Part(worldSize, rank)).resume(epoch, segments)) {
        longest = Math.max(longest, cursor.remaining());
      }
    }
    return longest;
  }

  /** Checks every change between 1 to 17 ranks, at the start, middle and end of an epoch. */
  public static void anyTwoWorldSizesDeliver(Division division, long epoch, long[] sortedSamples) {
    for (int before = 1; before <= 17; before++) {
      long longest = longest(division, epoch, List.of(), before);
      for (int after = 1; after <= 17; after++) {
        for (long steps : new long[] {0, longest / 3, longest}) {
          assertThat(delivered(division, epoch, List.of(new EpochSegment(before, steps)), after))
              .isEqualTo(sortedSamples);
        }
      }
    }
  }

  public static long[] sorted(Sampler order, long epoch) {
    return LongStream.of(Cursors.indices(order, epoch)).sorted().toArray();
  }

  /** Returns Pearson's statistic. */
  public static double chiSquare(long[] counts, double[] expected) {
    double sum = 0;
    for (int i = 0; i < counts.length; i++) {
      if (expected[i] > 0) {
        sum += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
      }
    }
    return sum;
  }
}
