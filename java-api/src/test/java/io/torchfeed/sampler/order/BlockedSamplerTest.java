// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.testing.Cursors;
import io.torchfeed.testing.DivisionChecks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of orders distributed over ranks in blocks and in contiguous parts. */
class BlockedSamplerTest {
  private static Sampler sequence(int size) {
    return ListSampler.inOrder(LongStream.range(0, size).toArray());
  }

  private static List<long[]> parts(DivisionChecks.Division division, int worldSize) {
    return rests(division, worldSize, List.of());
  }

  private static List<long[]> rests(
      DivisionChecks.Division division, int worldSize, List<EpochSegment> delivered) {
    List<long[]> parts = new ArrayList<>();
    for (int rank = 0; rank < worldSize; rank++) {
      try (Cursor cursor = division.of(new Part(worldSize, rank)).resume(0, delivered)) {
        parts.add(Cursors.rest(cursor));
      }
    }
    return parts;
  }

  private static DivisionChecks.Division blocks(int size, long block, Tail tail) {
    return part -> BlockedSampler.of(sequence(size), block, part).withTail(tail);
  }

  @Test
  void blocksAreAssignedInRoundsAndTheRemainderInSlices() {
    assertThat(parts(blocks(17, 3, Tail.UNEVEN), 2))
        .containsExactly(
            new long[] {0, 1, 2, 6, 7, 8, 12, 13, 14}, new long[] {3, 4, 5, 9, 10, 11, 15, 16});
    assertThat(parts(blocks(17, 3, Tail.PAD), 2).get(1))
        .containsExactly(3, 4, 5, 9, 10, 11, 15, 16, 0);
    assertThat(parts(blocks(17, 3, Tail.DROP), 2))
        .containsExactly(
            new long[] {0, 1, 2, 6, 7, 8, 12, 13}, new long[] {3, 4, 5, 9, 10, 11, 14, 15});
  }

  @Test
  void contiguousPartsDifferByOneSample() {
    DivisionChecks.Division parts = part -> BlockedSampler.contiguous(sequence(10), part);
    assertThat(parts(parts, 4))
        .containsExactly(
            new long[] {0, 1, 2}, new long[] {3, 4, 5}, new long[] {6, 7, 0}, new long[] {8, 9, 1});
    assertThat(parts(part -> BlockedSampler.contiguous(sequence(2), part), 5))
        .containsExactly(
            new long[] {0}, new long[] {1}, new long[] {0}, new long[] {1}, new long[] {0});
  }

  @Test
  void blocksOfOneAreStrides() {
    for (Tail tail : Tail.values()) {
      for (int worldSize = 1; worldSize <= 7; worldSize++) {
        for (int rank = 0; rank < worldSize; rank++) {
          StridedSampler strided =
              StridedSampler.of(sequence(20), new Part(worldSize, rank)).withTail(tail);
          Sampler blocked = blocks(20, 1, tail).of(new Part(worldSize, rank));
          assertThat(Cursors.indices(blocked, 0)).isEqualTo(Cursors.indices(strided, 0));
        }
      }
    }
  }

  @Test
  void theRemainderIsReassignedInAscendingPositions() {
    List<EpochSegment> delivered = List.of(new EpochSegment(2, 4));
    // Left of the 17 samples: 7 8, 10 11 of the second round, then 12 to 16.
    assertThat(rests(blocks(17, 3, Tail.UNEVEN), 3, delivered))
        .containsExactly(new long[] {7, 8, 10}, new long[] {11, 12, 13}, new long[] {14, 15, 16});
    assertThat(rests(blocks(17, 3, Tail.UNEVEN), 2, delivered))
        .containsExactly(new long[] {7, 8, 12, 13, 14}, new long[] {10, 11, 15, 16});
  }

  @Property(tries = 400)
  void elasticRunsDeliverEverySampleOnce(
      @ForAll @IntRange(min = 0, max = 120) int size,
      @ForAll @IntRange(min = 1, max = 150) int block,
      @ForAll long seed,
      @ForAll Tail tail) {
    DivisionChecks.Division division = blocks(size, block, tail);
    Random random = new Random(seed);
    List<EpochSegment> segments = new ArrayList<>();
    for (int i = random.nextInt(4); i > 0; i--) {
      int worldSize = 1 + random.nextInt(17);
      long longest = DivisionChecks.longest(division, 0, segments, worldSize);
      segments.add(new EpochSegment(worldSize, random.nextInt((int) longest + 1)));
    }
    int worldSize = 1 + random.nextInt(17);
    long[] seen = DivisionChecks.delivered(division, 0, segments, worldSize);
    if (tail == Tail.DROP) {
      assertThat(seen).doesNotHaveDuplicates().hasSizeGreaterThan(size - worldSize);
    } else {
      assertThat(seen).isEqualTo(LongStream.range(0, size).toArray());
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 4, Long.MAX_VALUE})
  void anyTwoWorldSizesDeliverEverySampleOnce(long block) {
    long[] samples = LongStream.range(0, 61).toArray();
    DivisionChecks.anyTwoWorldSizesDeliver(blocks(61, block, Tail.PAD), 0, samples);
  }

  @Property(tries = 200)
  void theSameNumberOfRanksContinuesAsIfItHadNotStopped(
      @ForAll @IntRange(min = 1, max = 120) int size,
      @ForAll @IntRange(min = 1, max = 60) int block,
      @ForAll @IntRange(min = 1, max = 17) int worldSize,
      @ForAll Tail tail) {
    DivisionChecks.Division division = blocks(size, block, tail);
    List<long[]> whole = parts(division, worldSize);
    int steps = whole.get(0).length;
    for (int done = 0; done <= steps; done++) {
      List<EpochSegment> delivered =
          List.of(
              new EpochSegment(worldSize, done / 2), new EpochSegment(worldSize, done - done / 2));
      List<long[]> rests = rests(division, worldSize, delivered);
      for (int rank = 0; rank < worldSize; rank++) {
        long[] part = whole.get(rank);
        assertThat(rests.get(rank))
            .isEqualTo(Arrays.copyOfRange(part, Math.min(done, part.length), part.length));
      }
    }
  }

  @Property(tries = 50)
  void anyPositionIsReached(
      @ForAll @IntRange(min = 0, max = 120) int size,
      @ForAll @IntRange(min = 1, max = 60) int block,
      @ForAll @IntRange(min = 1, max = 17) int worldSize) {
    DivisionChecks.Division division = blocks(size, block, Tail.PAD);
    DivisionChecks.seekEqualsSkipAtEveryPosition(
        division.of(new Part(worldSize, worldSize - 1)), 0);
  }

  @Test
  void aSegmentIsLimitedByTheLongestRank() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> rests(blocks(10, 3, Tail.PAD), 2, List.of(new EpochSegment(3, 5))))
        .withMessageContaining("can have delivered at most 4, got EpochSegment");
  }

  @Nested
  class BadInput {
    @ParameterizedTest
    @ValueSource(longs = {0, -1, Long.MIN_VALUE})
    void blockSizesBelowOneAreRefused(long block) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> BlockedSampler.of(sequence(3), block, Part.whole()))
          .withMessage("blockSize must be at least 1, got " + block);
    }

    @Test
    void partsOfAnOrderAreNotDividedAgain() {
      BlockedSampler half = BlockedSampler.contiguous(sequence(3), new Part(2, 1));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> BlockedSampler.contiguous(half, new Part(2, 1)))
          .withMessageContaining("rank 1 of 2");
      DivisionChecks.negativeEpochsAreRefused(half);
    }

    @Test
    void theLargestArgumentsAreAccepted() {
      Sampler endless = RepeatedSampler.endless(sequence(10));
      int most = 65_536;
      assertThat(BlockedSampler.of(endless, Long.MAX_VALUE, new Part(most, most - 1)).size())
          .isEqualTo((1L << 62) / most);
      try (Cursor cursor = BlockedSampler.of(endless, 1L << 40, new Part(3, 2)).epoch(0)) {
        cursor.seek(1L << 60);
        // Position 2^60 of rank 2 is the start of the rank's block 2^20.
        assertThat(Cursors.next(cursor, 1)).containsExactly((3 * (1L << 60) + (2L << 40)) % 10);
      }
    }

    @ParameterizedTest
    @EnumSource(Tail.class)
    void emptyOrdersAreEmptyOnEveryRank(Tail tail) {
      assertThat(parts(blocks(0, 3, tail), 4)).allMatch(part -> part.length == 0);
    }

    @Test
    void positionsOutsideThePartAreRefused() {
      try (Cursor cursor = blocks(10, 3, Tail.PAD).of(new Part(3, 2)).epoch(0)) {
        assertThatThrownBy(() -> cursor.isPadding(4)).isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(cursor.isPadding(3)).isTrue();
        assertThat(cursor.isPadding(2)).isFalse();
      }
    }

    @Test
    void everyParameterDistinguishesPlans() {
      BlockedSampler plan = BlockedSampler.of(sequence(10), 2, new Part(3, 1));
      assertThat(
              Stream.of(
                      plan,
                      BlockedSampler.of(sequence(11), 2, new Part(3, 1)),
                      BlockedSampler.of(sequence(10), 3, new Part(3, 1)),
                      BlockedSampler.of(sequence(10), 2, new Part(4, 1)),
                      BlockedSampler.of(sequence(10), 2, new Part(3, 2)),
                      plan.withTail(Tail.DROP),
                      BlockedSampler.contiguous(sequence(10), new Part(3, 1)),
                      StridedSampler.of(sequence(10), new Part(3, 1)))
                  .map(Sampler::digest)
                  .distinct())
          .hasSize(8);
      assertThat(plan.order())
          .isEqualTo(BlockedSampler.of(sequence(10), 2, new Part(5, 4)).order());
    }
  }
}
