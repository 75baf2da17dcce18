// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.testing.ListedSampler;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.IntFunction;
import java.util.stream.LongStream;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Tests of reports on plans small enough to be computed by hand. */
class BalanceReportTest {
  private static final Offset<Double> EXACT = within(1e-12);

  /**
   * Two ranks with batches of two. Costs are 1 to 8, so the steps cost (1 2 | 3 4) and (5 6 | 7 8);
   * in the next epoch they are (0 1 | 4 3) and (2 6 | 5 7).
   */
  @Nested
  class OfTwoStepsOnTwoRanks {
    private final BalanceReport report =
        BalanceReport.over(Costs.of(1, 2, 3, 4, 5, 6, 7, 8), 2)
            .samplers(
                2,
                ranks(
                    new ListedSampler(new long[] {0, 1, 4, 5}, new long[] {0, 1, 2, 6}),
                    new ListedSampler(new long[] {2, 3, 6, 7}, new long[] {4, 3, 5, 7})));

    @Test
    void stepsAndSamplesAreCounted() {
      assertThat(report.steps()).isEqualTo(2);
      assertThat(report.samples()).isEqualTo(8);
      assertThat(report.paddingSamples()).isZero();
    }

    @Test
    void imbalanceIsTheSlowestRankOverTheMean() {
      double first = 7 / 5.0;
      double second = 15 / 13.0;
      assertThat(report.real().mean()).isCloseTo((first + second) / 2, EXACT);
      assertThat(report.real().max()).isCloseTo(first, EXACT);
      assertThat(report.real().p99()).isCloseTo(second + 0.99 * (first - second), EXACT);
      assertThat(report.padded().max()).isCloseTo(8 / 6.0, EXACT);
      assertThat(report.padded().mean()).isCloseTo((8 / 6.0 + 16 / 14.0) / 2, EXACT);
      assertThat(report.bound()).isEqualTo(new BalanceReport.Imbalance(1, 1, 1));
    }

    @Test
    void rankTotalsAndTheTimeOfAnEpochAreSummed() {
      assertThat(report.rankSpread()).isCloseTo((22 - 14) / 18.0, EXACT);
      assertThat(report.paddedRankSpread()).isCloseTo((24 - 16) / 20.0, EXACT);
      assertThat(report.slowestCost()).isEqualTo(7 + 15);
      assertThat(report.slowestPaddedCost()).isEqualTo(8 + 16);
    }

    @Test
    void paddingIsTheShareOfThePaddedCostThatIsNotReal() {
      assertThat(report.padding()).isCloseTo(1 - 36 / 40.0, EXACT);
      assertThat(report.stepPadding()).isCloseTo(1 - 36 / 48.0, EXACT);
    }

    @Test
    void samplesThatMeetAgainAreCounted() {
      assertThat(report.randomness().batchMates()).isCloseTo(2 / 8.0, EXACT);
      assertThat(report.randomness().stepMates()).isCloseTo(4 / 8.0, EXACT);
    }

    @Test
    void orderIsComparedWithTheNextEpochAndWithTheCosts() {
      assertThat(report.randomness().betweenEpochs()).isCloseTo(0.5, EXACT);
      assertThat(report.randomness().withCost()).isCloseTo(8 / Math.sqrt(84), EXACT);
    }

    @Test
    void theTableHasALinePerFigure() {
      assertThat(report.table().lines())
          .hasSize(8)
          .contains(
              "step imbalance, real cost       mean 1.2769  p99 1.3975  max 1.4000",
              "padding, of batch and of step   10.000 %  25.000 %");
    }
  }

  @Test
  void aSampleAboveTheShareOfARankRaisesTheBound() {
    BalanceReport report =
        BalanceReport.over(Costs.of(10, 1, 1, 2), 2).samplers(2, ranks(listed(0, 1), listed(2, 3)));
    assertThat(report.bound().mean()).isCloseTo(11 / 7.0, EXACT); // 10 and the smallest other cost
    assertThat(report.real().mean()).isCloseTo(11 / 7.0, EXACT);
  }

  @Test
  void unequalBatchesAreStepsWithIdleRanks() {
    BalanceReport report =
        BalanceReport.over(Costs.of(3, 3, 3, 3), 2).samplers(2, ranks(listed(0, 1, 2), listed(3)));
    assertThat(report.steps()).isEqualTo(2);
    assertThat(report.real().max()).isEqualTo(2);
    assertThat(report.real().mean()).isCloseTo((2 + 6 / 4.5) / 2, EXACT);
    assertThat(report.slowestCost()).isEqualTo(6 + 3);
  }

  @Test
  void paddingCostsButIsNoBatchMate() {
    long[] padded = {0, 1, ~0};
    BalanceReport report =
        BalanceReport.over(Costs.of(4, 2), 1).samplers(3, ranks(new ListedSampler(padded)));
    assertThat(report.samples()).isEqualTo(3);
    assertThat(report.paddingSamples()).isEqualTo(1);
    assertThat(report.padding()).isCloseTo(1 - 10 / 12.0, EXACT);
    assertThat(report.randomness().batchMates()).isEqualTo(1);
  }

  @Test
  void theSameOrderInEveryEpochIsNotRandom() {
    BalanceReport report =
        BalanceReport.over(Costs.of(1, 2, 3, 4, 5, 6), 1)
            .samplers(2, ranks(listed(0, 1, 2, 3, 4, 5)));
    assertThat(report.randomness().batchMates()).isEqualTo(1);
    assertThat(report.randomness().stepMates()).isEqualTo(1);
    assertThat(report.randomness().betweenEpochs()).isCloseTo(1, EXACT);
    assertThat(report.randomness().withCost()).isGreaterThan(0.9);
  }

  @Test
  void aRandomOrderIsNearlyUncorrelated() {
    int size = 20_000;
    Costs costs = Costs.computed(size, index -> 1 + index % 100);
    BalanceReport report =
        BalanceReport.over(costs, 4).samplers(8, rank -> shuffled(size, 4, rank));
    double sigma = 1 / Math.sqrt(size);
    assertThat(report.randomness().betweenEpochs()).isCloseTo(0, within(5 * sigma));
    assertThat(report.randomness().withCost()).isCloseTo(0, within(5 * sigma));
    assertThat(report.randomness().batchMates()).isCloseTo(7.0 / (size - 1), within(3e-4));
    assertThat(report.randomness().stepMates()).isCloseTo(31.0 / (size - 1), within(3e-4));
  }

  @Test
  void aDifferentEpochHasADifferentReport() {
    Sampler plan = new ListedSampler(new long[] {0, 1}, new long[] {1, 0}, new long[] {0, 1});
    BalanceReport.Reader reader = BalanceReport.over(Costs.of(1, 5), 1);
    assertThat(reader.samplers(1, rank -> plan).randomness().withCost()).isCloseTo(1, EXACT);
    assertThat(reader.epoch(1).samplers(1, rank -> plan).randomness().withCost())
        .isCloseTo(-1, EXACT);
  }

  @Test
  void batchSamplersAreReadBatchByBatch() {
    Costs costs = Costs.of(5, 5, 5, 5, 5, 5);
    BalanceReport report =
        BalanceReport.over(costs, 1)
            .batchSamplers(rank -> FixedSizeBatchSampler.of(listed(5, 4, 3, 2, 1, 0), 2));
    assertThat(report.samples()).isEqualTo(6);
    assertThat(report.slowestPaddedCost()).isEqualTo(3 * 10);
  }

  @Test
  void anEmptyEpochIsPerfectlyBalanced() {
    BalanceReport none = BalanceReport.over(Costs.of(), 2).samplers(4, ranks(listed(), listed()));
    assertThat(none.steps()).isZero();
    assertThat(none.real()).isEqualTo(new BalanceReport.Imbalance(1, 1, 1));
    BalanceReport free = BalanceReport.over(Costs.of(0, 0), 1).samplers(1, ranks(listed(0, 1)));
    assertThat(free.real().max()).isEqualTo(1);
    assertThat(free.padding()).isZero();
    assertThat(free.rankSpread()).isZero();
  }

  @Test
  void invalidArgumentsAreRefused() {
    Costs costs = Costs.of(1, 2);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> BalanceReport.over(costs, 0))
        .withMessageContaining("worldSize must be in [1, 1048576], got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> BalanceReport.over(costs, 1).epoch(-1))
        .withMessageContaining("epoch must be at least 0, got -1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> BalanceReport.over(costs, 1).samplers(0, ranks(listed(0))))
        .withMessageContaining("batchSize must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> BalanceReport.over(costs, 1).samplers(1, ranks(listed(0, 2))))
        .withMessageContaining("got 2 costs and index 2 of rank 0");
  }

  private static Sampler shuffled(int size, int worldSize, int rank) {
    long[][] epochs = new long[2][size / worldSize];
    for (int epoch = 0; epoch < epochs.length; epoch++) {
      List<Long> all = new ArrayList<>(LongStream.range(0, size).boxed().toList());
      Collections.shuffle(all, new Random(epoch));
      for (int i = 0; i < epochs[epoch].length; i++) {
        epochs[epoch][i] = all.get(i * worldSize + rank);
      }
    }
    return new ListedSampler(epochs);
  }

  private static Sampler listed(long... indices) {
    return new ListedSampler(indices);
  }

  private static IntFunction<Sampler> ranks(Sampler... samplers) {
    return List.of(samplers)::get;
  }
}
