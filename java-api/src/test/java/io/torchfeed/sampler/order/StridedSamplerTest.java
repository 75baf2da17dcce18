// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.torch.RandomSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import io.torchfeed.testing.Cursors;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of orders distributed over ranks by stride. */
class StridedSamplerTest {
  private static final Sampler TEN = SequentialSampler.of(10);

  @Test
  void ranksTakeTurns() {
    assertThat(parts(TEN, 3, Tail.PAD))
        .containsExactly(new long[] {0, 3, 6, 9}, new long[] {1, 4, 7, 0}, new long[] {2, 5, 8, 1});
    assertThat(parts(TEN, 3, Tail.DROP))
        .containsExactly(new long[] {0, 3, 6}, new long[] {1, 4, 7}, new long[] {2, 5, 8});
    assertThat(parts(TEN, 3, Tail.UNEVEN))
        .containsExactly(new long[] {0, 3, 6, 9}, new long[] {1, 4, 7}, new long[] {2, 5, 8});
  }

  @Test
  void moreRanksThanSamplesRepeatTheWholeOrder() {
    assertThat(parts(SequentialSampler.of(2), 5, Tail.PAD))
        .containsExactly(
            new long[] {0}, new long[] {1}, new long[] {0}, new long[] {1}, new long[] {0});
  }

  @ParameterizedTest
  @EnumSource(Tail.class)
  void anEmptyOrderIsEmptyOnEveryRank(Tail tail) {
    assertThat(parts(SequentialSampler.of(0), 3, tail)).allMatch(part -> part.length == 0);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 7, 23})
  void everySampleIsDeliveredOnceApartFromPadding(int worldSize) {
    Sampler order = RandomSampler.of(20, 5);
    long[] seen =
        IntStream.range(0, worldSize)
            .mapToObj(rank -> StridedSampler.of(order, new Part(worldSize, rank)))
            .flatMapToLong(sampler -> LongStream.of(Cursors.withoutPadding(sampler, 1)))
            .sorted()
            .toArray();
    assertThat(seen).isEqualTo(LongStream.range(0, 20).toArray());
  }

  @Test
  void libtorchOrdersAreReadThroughTheirCursor() {
    Sampler order = RandomSampler.of(50_000, 3);
    long[] whole = Cursors.indices(order, 2);
    long[] part = Cursors.indices(StridedSampler.of(order, new Part(7, 5)).withTail(Tail.DROP), 2);
    long[] expected = new long[part.length];
    for (int i = 0; i < expected.length; i++) {
      expected[i] = whole[5 + 7 * i];
    }
    assertThat(part).isEqualTo(expected);
  }

  @Test
  void theRemainderIsDividedOverADifferentNumberOfRanks() {
    List<EpochSegment> delivered = List.of(new EpochSegment(3, 2));
    assertThat(rest(TEN, 2, delivered)).containsExactly(new long[] {6, 8}, new long[] {7, 9});
    assertThat(rest(TEN, 4, delivered))
        .containsExactly(new long[] {6}, new long[] {7}, new long[] {8}, new long[] {9});
    assertThat(rest(TEN, 3, delivered))
        .containsExactly(new long[] {6, 9}, new long[] {7, 0}, new long[] {8, 1});
  }

  @Test
  void aSegmentLongerThanTheOrderIsRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> rest(TEN, 2, List.of(new EpochSegment(3, 4), new EpochSegment(1, 1))))
        .withMessageContaining("can have delivered at most 0");
  }

  @Test
  void anAlreadyDividedPlanIsRefused() {
    Sampler half = StridedSampler.of(TEN, new Part(2, 0));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> StridedSampler.of(half, new Part(2, 0)))
        .withMessageContaining("rank 0 of 2");
  }

  private static List<long[]> parts(Sampler order, int worldSize, Tail tail) {
    List<long[]> parts = new ArrayList<>();
    for (int rank = 0; rank < worldSize; rank++) {
      parts.add(
          Cursors.indices(StridedSampler.of(order, new Part(worldSize, rank)).withTail(tail), 0));
    }
    return parts;
  }

  private static List<long[]> rest(Sampler order, int worldSize, List<EpochSegment> delivered) {
    long[][] parts = new long[worldSize][];
    for (int rank = 0; rank < worldSize; rank++) {
      try (Cursor cursor =
          StridedSampler.of(order, new Part(worldSize, rank)).resume(0, delivered)) {
        parts[rank] = Cursors.rest(cursor);
      }
    }
    return Arrays.asList(parts);
  }
}
