// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of costs learned from batch times. */
class CostEstimatorTest {
  private static final int SAMPLES = 400;
  private static final Costs LENGTHS = Costs.computed(SAMPLES, index -> 1 + index);

  /** Returns the true cost of a sample: the long half costs four times as much per length. */
  private static double truth(long index) {
    double length = LENGTHS.at(index);
    return length <= SAMPLES / 2 ? 0.5 * length : 2 * length;
  }

  @Test
  void theOverheadPerBatchIsNotAttributedToSamples() {
    CostEstimator estimator = CostEstimator.of(Costs.of(2, 4, 1), 1);
    estimator.add(new long[] {0}, 1, 3);
    estimator.add(new long[] {1}, 1, 5);
    Costs costs = estimator.estimate();
    assertThat(costs.at(1)).isEqualTo(1 << 30);
    assertThat(costs.at(0)).isEqualTo(1 << 29);
    assertThat(costs.at(2)).isEqualTo(1 << 28);
  }

  @Test
  void ratesOfBucketsAreFound() {
    CostEstimator estimator = CostEstimator.of(LENGTHS, 2);
    measure(estimator, 1, 0);
    assertRatios(estimator.estimate(), 1e-5);
  }

  @Test
  void noiseAveragesOut() {
    CostEstimator estimator = CostEstimator.of(LENGTHS, 8);
    measure(estimator, 2, 0.05);
    assertRatios(estimator.estimate(), 0.1);
  }

  @Test
  void anUnseenBucketHasTheAverageRate() {
    CostEstimator estimator = CostEstimator.of(Costs.of(10, 1000), 2);
    estimator.add(new long[] {0}, 1, 5);
    estimator.add(new long[] {0, 0}, 2, 10);
    Costs costs = estimator.estimate();
    assertThat((double) costs.at(1) / costs.at(0)).isCloseTo(100, within(1e-3));
  }

  @Test
  void ranksThatShareTheirSumsHaveEqualEstimates() {
    CostEstimator whole = CostEstimator.of(LENGTHS, 4);
    CostEstimator first = CostEstimator.of(LENGTHS, 4);
    CostEstimator second = CostEstimator.of(LENGTHS, 4);
    measure(first, 3, 0.1);
    measure(second, 4, 0.1);
    whole.addSums(first.sums());
    whole.addSums(second.sums());
    first.addSums(second.sums());
    assertThat(first.estimate()).isEqualTo(whole.estimate());
  }

  @Test
  void forgottenMeasurementsAreIgnored() {
    CostEstimator estimator = CostEstimator.of(Costs.of(10, 20), 2);
    estimator.add(new long[] {0}, 1, 100);
    estimator.add(new long[] {1}, 1, 1);
    estimator.forget(1);
    assertThatIllegalStateException().isThrownBy(estimator::estimate);
    estimator.add(new long[] {0}, 1, 1);
    estimator.add(new long[] {1}, 1, 2);
    estimator.add(new long[] {1, 1}, 2, 4);
    assertThat((double) estimator.estimate().at(1) / estimator.estimate().at(0))
        .isCloseTo(2, within(1e-3));
  }

  @Test
  void recentEpochsWeighMoreWhenEarlierOnesFade() {
    CostEstimator estimator = CostEstimator.of(LENGTHS, 1);
    for (int i = 0; i < 50; i++) {
      estimator.add(new long[] {i}, 1, 10.0 + LENGTHS.at(i));
    }
    estimator.forget(0.9);
    double[] faded = estimator.sums();
    assertThat(faded[faded.length - 1]).isCloseTo(5, within(1e-9));
  }

  @Test
  void ratesStayPositive() {
    CostEstimator estimator = CostEstimator.of(Costs.of(10, 20), 2);
    estimator.add(new long[] {0}, 1, 100);
    estimator.add(new long[] {0, 1}, 2, 1);
    estimator.add(new long[] {1}, 1, 50);
    Costs costs = estimator.estimate();
    assertThat(costs.at(0)).isPositive();
    assertThat(costs.at(1)).isPositive();
  }

  @Test
  void samplesWithoutPriorCostCountAsOne() {
    CostEstimator estimator = CostEstimator.of(Costs.of(0, 1), 3);
    estimator.add(new long[] {0, 1}, 2, 4);
    Costs costs = estimator.estimate();
    assertThat(costs.at(0)).isEqualTo(costs.at(1));
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, -1, Double.NaN, Double.POSITIVE_INFINITY})
  void invalidTimesAreRefused(double time) {
    CostEstimator estimator = CostEstimator.of(LENGTHS, 2);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> estimator.add(new long[] {0}, 1, time))
        .withMessageContaining("time must be positive and finite, got " + time);
    assertThat(estimator.sums()).containsOnly(0);
  }

  @Test
  void overflowingTimesYieldNoEstimate() {
    CostEstimator estimator = CostEstimator.of(LENGTHS, 2);
    estimator.add(new long[] {0}, 1, 1e308);
    estimator.add(new long[] {1}, 1, 1e308);
    assertThatIllegalStateException()
        .isThrownBy(estimator::estimate)
        .withMessageContaining("positive and finite");
  }

  @Test
  void invalidArgumentsAreRefused() {
    CostEstimator estimator = CostEstimator.of(LENGTHS, 256);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CostEstimator.of(LENGTHS, 257))
        .withMessageContaining("buckets must be in [1, 256], got 257");
    assertThatIllegalArgumentException().isThrownBy(() -> CostEstimator.of(LENGTHS, 0));
    assertThatIllegalArgumentException().isThrownBy(() -> CostEstimator.of(Costs.of(), 1));
    assertThatIllegalArgumentException().isThrownBy(() -> estimator.add(new long[1], 0, 1));
    assertThatIllegalArgumentException().isThrownBy(() -> estimator.forget(1.1));
    assertThatIllegalArgumentException().isThrownBy(() -> estimator.forget(Double.NaN));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> estimator.addSums(new double[3]))
        .withMessageContaining("got 3");
    double[] notANumber = estimator.sums();
    notANumber[0] = Double.NaN;
    assertThatIllegalArgumentException().isThrownBy(() -> estimator.addSums(notANumber));
    assertThatThrownBy(() -> estimator.add(new long[1], 2, 1))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> estimator.add(new long[] {0, SAMPLES}, 2, 1))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThat(estimator.sums()).containsOnly(0);
  }

  private static void measure(CostEstimator estimator, long seed, double noise) {
    Random random = new Random(seed);
    for (int batch = 0; batch < 2000; batch++) {
      long[] indices = random.longs(1 + random.nextInt(8), 0, SAMPLES).toArray();
      double time = 7;
      for (long index : indices) {
        time += truth(index);
      }
      estimator.add(indices, indices.length, time * (1 + noise * random.nextGaussian()));
    }
  }

  private static void assertRatios(Costs costs, double tolerance) {
    double unit = costs.at(SAMPLES - 1) / truth(SAMPLES - 1);
    for (int index = SAMPLES / 8; index < SAMPLES; index++) {
      assertThat(costs.at(index) / unit).isCloseTo(truth(index), within(tolerance * truth(index)));
    }
  }
}
