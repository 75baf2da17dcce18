// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.testing.Cursors;
import io.torchfeed.testing.DivisionChecks;
import java.util.Arrays;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of draws by weight, with and without replacement. */
class WeightedSamplerTest {
  private static final double[] WEIGHTS = {0, 1, 2, 3, 0, 4, 0.5, 1e-3, 9.4965, 0};

  private static double[] shares(double[] weights) {
    double sum = Arrays.stream(weights).sum();
    return Arrays.stream(weights).map(weight -> weight / sum).toArray();
  }

  private static long[] counts(long[] draws, int bins) {
    long[] counts = new long[bins];
    for (long draw : draws) {
      counts[(int) draw]++;
    }
    return counts;
  }

  static Stream<Arguments> badWeights() {
    return Stream.of(
        Arguments.of(new double[] {}, "weights must not be empty"),
        Arguments.of(new double[] {0, 0, 0}, "got 3 weights of 0"),
        Arguments.of(new double[] {1, Double.NaN}, "got NaN at index 1"),
        Arguments.of(new double[] {-1e-300, 1}, "got -1.0E-300 at index 0"),
        Arguments.of(new double[] {1, 1, Double.POSITIVE_INFINITY}, "got Infinity at index 2"),
        Arguments.of(new double[] {Double.NEGATIVE_INFINITY}, "got -Infinity at index 0"));
  }

  @ParameterizedTest
  @MethodSource("badWeights")
  void invalidWeightsAreRefused(double[] weights, String message) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> WeightedSampler.of(weights, 1, 0))
        .withMessageContaining(message);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> WeightedShuffleSampler.of(weights, 0))
        .withMessageContaining(message);
    if (Arrays.stream(weights).noneMatch(weight -> weight == -1e-300)) {
      float[] floats = new float[weights.length];
      for (int i = 0; i < floats.length; i++) {
        floats[i] = (float) weights[i];
      }
      assertThatIllegalArgumentException()
          .isThrownBy(() -> WeightedSampler.ofFloats(floats, 1, 0))
          .withMessageContaining(message);
    }
  }

  @Nested
  class WithReplacement {
    private final WeightedSampler sampler = WeightedSampler.of(WEIGHTS, 200_000, 7);

    @Test
    void samplesComeInProportionToTheirWeights() {
      double[] expected = shares(WEIGHTS);
      for (int i = 0; i < expected.length; i++) {
        expected[i] *= 200_000;
      }
      for (long epoch = 0; epoch < 5; epoch++) {
        long[] counts = counts(Cursors.indices(sampler, epoch), WEIGHTS.length);
        // 6 degrees of freedom: mean 6, deviation 3.5; 30.7 has the probability 3e-5.
        assertThat(DivisionChecks.chiSquare(counts, expected)).isLessThan(30.7);
      }
    }

    @Test
    void consecutiveDrawsAreIndependent() {
      double[] weights = {1, 2, 3, 4};
      long[] draws = Cursors.indices(WeightedSampler.of(weights, 400_000, 1), 0);
      long[] pairs = new long[16];
      for (int i = 0; i + 1 < draws.length; i += 2) {
        pairs[(int) (4 * draws[i] + draws[i + 1])]++;
      }
      double[] expected = new double[16];
      for (int i = 0; i < 16; i++) {
        expected[i] = 200_000 * weights[i / 4] * weights[i % 4] / 100;
      }
      // 15 degrees of freedom: mean 15, deviation 5.5.
      assertThat(DivisionChecks.chiSquare(pairs, expected)).isLessThan(45);
    }

    @Test
    void zeroWeightsAreNeverDrawn() {
      assertThat(Cursors.indices(sampler, 0)).doesNotContain(0, 4, 9);
      assertThat(Cursors.indices(WeightedSampler.of(new double[] {0, 3, 0}, 1_000, 1), 0))
          .containsOnly(1);
    }

    @Test
    void theTableIsExactToTheLastBits() {
      double[] weights =
          LongStream.range(0, 10_000).mapToDouble(i -> (i * 7919 % 1000) / 3.0).toArray();
      double[] probabilities = new AliasTable(Weights.of(weights)).probabilities();
      double[] shares = shares(weights);
      for (int i = 0; i < weights.length; i++) {
        assertThat(probabilities[i]).isCloseTo(shares[i], within(1e-15));
      }
    }

    @Test
    void weightsOfAnyMagnitudeAreProportions() {
      double[] huge = {Double.MAX_VALUE, Double.MAX_VALUE, 0};
      assertThat(new AliasTable(Weights.of(huge)).probabilities()).containsExactly(0.5, 0.5, 0);
      double[] tiny = {Double.MIN_VALUE, 0, Double.MIN_VALUE};
      assertThat(new AliasTable(Weights.of(tiny)).probabilities()).containsExactly(0.5, 0, 0.5);
      double[] wide = {1e-200, 1e200, -0.0};
      assertThat(Cursors.indices(WeightedSampler.of(wide, 10_000, 3), 0)).containsOnly(1);
      assertThat(Cursors.indices(WeightedSampler.of(new double[] {5}, 3, 3), 0))
          .containsExactly(0, 0, 0);
    }

    @Test
    void anyPositionIsReachedDirectly() {
      WeightedSampler large = WeightedSampler.of(WEIGHTS, 1L << 62, 7);
      try (Cursor cursor = large.epoch(3)) {
        assertThat(Cursors.next(cursor, 1_000))
            .isEqualTo(Arrays.copyOf(Cursors.indices(sampler, 3), 1_000));
        cursor.seek((1L << 62) - 2);
        assertThat(Cursors.next(cursor, 5)).hasSize(2);
      }
      DivisionChecks.seekEqualsSkipAtEveryPosition(WeightedSampler.of(WEIGHTS, 100, 7), 2);
    }

    @Test
    void floatWeightsEqualDoubleWeights() {
      WeightedSampler floats = WeightedSampler.ofFloats(new float[] {0, 1.5f, 2}, 100, 3);
      WeightedSampler doubles = WeightedSampler.of(new double[] {0, 1.5, 2}, 100, 3);
      assertThat(floats.digest()).isEqualTo(doubles.digest());
      assertThat(Cursors.indices(floats, 1)).isEqualTo(Cursors.indices(doubles, 1));
    }

    @Test
    void seedsEpochsWeightsAndLengthsDistinguishPlans() {
      long[] first = Cursors.indices(sampler, 0);
      assertThat(Cursors.indices(sampler, 1)).isNotEqualTo(first);
      assertThat(Cursors.indices(WeightedSampler.of(WEIGHTS, 200_000, 8), 0)).isNotEqualTo(first);
      double[] other = WEIGHTS.clone();
      other[3] = Math.nextUp(other[3]);
      assertThat(
              Stream.of(
                      sampler,
                      WeightedSampler.of(WEIGHTS, 200_000, 8),
                      WeightedSampler.of(WEIGHTS, 200_001, 7),
                      WeightedSampler.of(other, 200_000, 7),
                      WeightedShuffleSampler.of(WEIGHTS, 7),
                      WeightedShuffleSampler.of(WEIGHTS, 3, 7))
                  .map(Sampler::digest)
                  .distinct())
          .hasSize(6);
    }

    @Test
    void theArrayIsCopied() {
      double[] weights = {1, 1, 1};
      WeightedSampler copied = WeightedSampler.of(weights, 50, 3);
      long[] before = Cursors.indices(copied, 0);
      weights[0] = 1_000;
      assertThat(Cursors.indices(copied, 0)).isEqualTo(before);
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, (1L << 62) + 1, Long.MIN_VALUE})
    void lengthsOutOfRangeAreRefused(long samples) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> WeightedSampler.of(WEIGHTS, samples, 0))
          .withMessage("samples must be in [0, 4611686018427387904], got " + samples);
    }

    @Test
    void negativeEpochsAreRefused() {
      DivisionChecks.negativeEpochsAreRefused(sampler);
      DivisionChecks.negativeEpochsAreRefused(WeightedShuffleSampler.of(WEIGHTS, 1));
    }

    @Test
    void closedCursorsReportTheirSampler() {
      Cursor cursor = WeightedSampler.of(new double[] {1}, 2, 3).epoch(0);
      cursor.close();
      cursor.close();
      assertThatIllegalStateException()
          .isThrownBy(cursor::position)
          .withMessageMatching(
              "the cursor of WeightedSampler\\[datasetSize=1, weights=\\p{XDigit}{16}, samples=2,"
                  + " seed=3] is closed");
    }
  }

  @Nested
  class WithoutReplacement {
    @Test
    void everySampleWithAWeightIsDrawnOnce() {
      assertThat(Cursors.indices(WeightedShuffleSampler.of(WEIGHTS, 3), 5))
          .containsExactlyInAnyOrder(1, 2, 3, 5, 6, 7, 8);
    }

    @Test
    void theFirstTwoDrawsFollowTheWeights() {
      double[] weights = {1, 2, 3, 4};
      double[] expected = new double[16];
      for (int i = 0; i < 16; i++) {
        double second = i / 4 == i % 4 ? 0 : weights[i % 4] / (10 - weights[i / 4]);
        expected[i] = 40_000 * weights[i / 4] / 10 * second;
      }
      WeightedShuffleSampler sampler = WeightedShuffleSampler.of(weights, 2, 11);
      long[] pairs = new long[16];
      for (long epoch = 0; epoch < 40_000; epoch++) {
        long[] drawn = Cursors.indices(sampler, epoch);
        pairs[(int) (4 * drawn[0] + drawn[1])]++;
      }
      // 11 degrees of freedom: mean 11, deviation 4.7.
      assertThat(DivisionChecks.chiSquare(pairs, expected)).isLessThan(38);
      assertThat(pairs[0] + pairs[5] + pairs[10] + pairs[15]).isZero();
    }

    @Test
    void fewerDrawsAreAPrefixOfAllDraws() {
      assertThat(Cursors.indices(WeightedShuffleSampler.of(WEIGHTS, 3, 9), 4))
          .isEqualTo(Arrays.copyOf(Cursors.indices(WeightedShuffleSampler.of(WEIGHTS, 9), 4), 3));
    }

    @Test
    void weightsWhoseSumOverflowsAreDrawn() {
      double[] wide = {1e-100, 1e200, 0, 1e-100};
      for (long epoch = 0; epoch < 50; epoch++) {
        assertThat(Cursors.indices(WeightedShuffleSampler.of(wide, 9), epoch))
            .startsWith(1)
            .containsExactlyInAnyOrder(0, 1, 3);
      }
    }

    @ParameterizedTest
    @ValueSource(longs = {-1, 8, Long.MAX_VALUE})
    void lengthsOutOfRangeAreRefused(long samples) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> WeightedShuffleSampler.of(WEIGHTS, samples, 0))
          .withMessageStartingWith("samples must be in [0, 7]")
          .withMessageEndingWith("got " + samples);
    }

    @Test
    void anyPositionIsReachedWithoutReplacement() {
      DivisionChecks.seekEqualsSkipAtEveryPosition(WeightedShuffleSampler.of(WEIGHTS, 3), 2);
    }
  }
}
