// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.testing.Cursors;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the default plan; its properties are in {@link ShuffledSamplerPropertyTest}. */
class ShuffledSamplerTest {
  private static final long MAX_SIZE = 1L << 62;

  @Test
  void theOrderIsThePermutationOfSeedAndEpoch() {
    Sampler sampler = ShuffledSampler.of(10, 42);
    assertThat(sampler.size()).isEqualTo(10);
    assertThat(Cursors.indices(sampler, 0)).containsExactly(0, 3, 9, 2, 7, 4, 8, 5, 1, 6);
    assertThat(Cursors.indices(sampler, 1)).containsExactly(6, 5, 1, 3, 2, 9, 7, 8, 4, 0);
  }

  @Test
  void ranksTakeTurnsAndArePaddedFromTheStart() {
    assertThat(part(0, Tail.PAD)).containsExactly(0, 2, 8, 6);
    assertThat(part(1, Tail.PAD)).containsExactly(3, 7, 5, 0);
    assertThat(part(2, Tail.PAD)).containsExactly(9, 4, 1, 3);
    assertThat(part(0, Tail.DROP)).containsExactly(0, 2, 8);
    assertThat(part(0, Tail.UNEVEN)).containsExactly(0, 2, 8, 6);
    assertThat(part(2, Tail.UNEVEN)).containsExactly(9, 4, 1);
  }

  @Test
  void theRemainderIsDividedOverADifferentNumberOfRanks() {
    List<EpochSegment> delivered = List.of(new EpochSegment(3, 2));
    assertThat(rest(2, 0, delivered)).containsExactly(8, 1);
    assertThat(rest(2, 1, delivered)).containsExactly(5, 6);
    assertThat(rest(4, 3, delivered)).containsExactly(6);
  }

  @ParameterizedTest
  @EnumSource(Tail.class)
  void anEmptyDatasetIsEmptyOnEveryRank(Tail tail) {
    for (int rank = 0; rank < 3; rank++) {
      Sampler sampler = ShuffledSampler.of(0, new Part(3, rank), 1).withTail(tail);
      assertThat(sampler.size()).isZero();
      assertThat(Cursors.indices(sampler, 0)).isEmpty();
    }
  }

  @Test
  void aBillionSamplesAreReadFromAnyPosition() {
    long n = 1_000_000_000;
    var permutation = SeekablePermutation.of(n, 1, 3);
    try (Cursor cursor = ShuffledSampler.of(n, new Part(8, 5), 1).epoch(3)) {
      for (long position : new long[] {124_999_999, 0, 77_777_777}) {
        cursor.seek(position);
        assertThat(Cursors.next(cursor, 1)).containsExactly(permutation.at(8 * position + 5));
        assertThat(cursor.position()).isEqualTo(position + 1);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3, Integer.MAX_VALUE})
  void theLargestDatasetIsReadToItsEnd(int worldSize) {
    Sampler sampler = ShuffledSampler.of(MAX_SIZE, new Part(worldSize, worldSize - 1), 9);
    var permutation = SeekablePermutation.of(MAX_SIZE, 9, 0);
    try (Cursor cursor = sampler.epoch(0)) {
      cursor.seek(sampler.size() - 1);
      long at = (sampler.size() - 1) * worldSize + worldSize - 1;
      assertThat(cursor.isPadding(sampler.size() - 1)).isEqualTo(at >= MAX_SIZE);
      assertThat(Cursors.next(cursor, 2)).containsExactly(permutation.at(at % MAX_SIZE));
    }
  }

  @Test
  void aStridedWholePlanEqualsTheDividedPlan() {
    Sampler whole = ShuffledSampler.of(1000, 4);
    for (int rank = 0; rank < 7; rank++) {
      assertThat(Cursors.indices(StridedSampler.of(whole, new Part(7, rank)), 2))
          .isEqualTo(Cursors.indices(ShuffledSampler.of(1000, new Part(7, rank), 4), 2));
    }
  }

  @Test
  void parametersIncludeEverythingThatDeterminesTheOrder() {
    ShuffledSampler sampler = ShuffledSampler.of(10, new Part(3, 1), -7).withTail(Tail.DROP);
    assertThat(sampler.parameters())
        .isEqualTo(
            PlanParameters.of("seekable.ShuffledSampler")
                .with("datasetSize", 10)
                .with("seed", -7)
                .with("tail", Tail.DROP)
                .with("worldSize", 3)
                .with("rank", 1));
    assertThat(sampler.order())
        .isEqualTo(ShuffledSampler.of(10, new Part(5, 4), -7).withTail(Tail.DROP).order())
        .isNotEqualTo(ShuffledSampler.of(10, new Part(3, 1), -8).withTail(Tail.DROP).order());
  }

  @Test
  void aClosedCursorIsRefused() {
    Cursor cursor = ShuffledSampler.of(10, 1).epoch(0);
    cursor.close();
    cursor.close();
    assertThatThrownBy(() -> cursor.next(new long[1], 0, 1))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("ShuffledSampler");
  }

  @Test
  void argumentsOutOfRangeAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ShuffledSampler.of(-1, 0))
        .withMessage("datasetSize must be at least 0, got -1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ShuffledSampler.of(MAX_SIZE + 1, 0))
        .withMessage("datasetSize must be in [0, 4611686018427387904], got 4611686018427387905");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ShuffledSampler.of(10, 0).epoch(-1))
        .withMessage("epoch must be at least 0, got -1");
  }

  private static long[] part(int rank, Tail tail) {
    return Cursors.indices(ShuffledSampler.of(10, new Part(3, rank), 42).withTail(tail), 0);
  }

  private static long[] rest(int worldSize, int rank, List<EpochSegment> delivered) {
    try (Cursor cursor =
        ShuffledSampler.of(10, new Part(worldSize, rank), 42).resume(0, delivered)) {
      return Cursors.rest(cursor);
    }
  }
}
