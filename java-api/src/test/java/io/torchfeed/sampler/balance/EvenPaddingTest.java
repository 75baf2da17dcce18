// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.ResumeMismatchException;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.SamplerState;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.order.SeekablePermutation;
import io.torchfeed.testing.Cursors;
import io.torchfeed.testing.Elastic;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of the padding of balanced plans whose costs have gaps. */
class EvenPaddingTest {
  private static final int SIZE = 1000;

  private static LoadBalancingDistributedSampler plan(
      Costs costs, int worldSize, int batchSize, StepGrouping grouping, long seed) {
    return LoadBalancingDistributedSampler.builder(costs, new Part(worldSize, 0), batchSize)
        .grouping(grouping)
        .seed(seed)
        .build();
  }

  private static double p99(Costs costs, int worldSize, int batchSize, IntFunction<Sampler> plan) {
    return BalanceReport.over(costs, worldSize).samplers(batchSize, plan).real().p99();
  }

  /** Every tenth sample is costly: each of Bagua's chunks of 2 and 4 samples has only one kind. */
  @ParameterizedTest
  @CsvSource({"2, 8", "2, 16", "4, 4", "4, 8", "4, 16"})
  void twoClustersAreAsEvenAsWithBagua(int worldSize, int batchSize) {
    Costs costs = Costs.computed(SIZE, i -> i % 10 == 0 ? 1000 : 100);
    for (int seed = 0; seed < 10; seed++) {
      int s = seed;
      double bagua =
          p99(
              costs,
              worldSize,
              batchSize,
              rank -> BaguaLoadBalancingSampler.of(costs, new Part(worldSize, rank)).withSeed(s));
      assertThat(bagua).isEqualTo(1);
      for (StepGrouping grouping : StepGrouping.values()) {
        var plan = plan(costs, worldSize, batchSize, grouping, seed);
        assertThat(p99(costs, worldSize, batchSize, plan::forRank)).as("%s", plan).isEqualTo(1);
      }
    }
  }

  /** Cluster sizes that the world size does not divide, so that Bagua's chunks are mixed. */
  @ParameterizedTest
  @CsvSource({
    "2, 8, 1000",
    "3, 8, 1000",
    "4, 8, 1000",
    "6, 5, 1000",
    "8, 2, 1000",
    "8, 8, 1000",
    "8, 16, 1000",
    "4, 8, 100",
    "5, 7, 31",
    "16, 4, 5003"
  })
  void clustersOfAnySizeAreEven(int worldSize, int batchSize, int size) {
    for (int seed = 0; seed < 10; seed++) {
      Random random = new Random(seed);
      double share = 0.2 + 0.6 * random.nextDouble();
      Costs costs = Costs.computed(size, i -> random.nextDouble() < share ? 100 : 1000);
      for (StepGrouping grouping : StepGrouping.values()) {
        var plan = plan(costs, worldSize, batchSize, grouping, seed);
        assertThat(p99(costs, worldSize, batchSize, plan::forRank))
            .as("%s", plan.parameters())
            .isEqualTo(1);
      }
    }
  }

  /** Costs spread within a cluster, and more than two clusters. */
  @ParameterizedTest
  @CsvSource({"2, 8", "4, 8", "6, 5", "8, 8"})
  void spreadClustersAreEven(int worldSize, int batchSize) {
    for (int seed = 0; seed < 10; seed++) {
      Random random = new Random(seed);
      long[] centres = {50, 500, 5000};
      Costs costs =
          Costs.computed(
              SIZE,
              i -> {
                long centre = centres[random.nextInt(3)];
                return centre + random.nextInt((int) centre / 25);
              });
      for (StepGrouping grouping : StepGrouping.values()) {
        var plan = plan(costs, worldSize, batchSize, grouping, seed);
        assertThat(p99(costs, worldSize, batchSize, plan::forRank))
            .as("%s", plan.parameters())
            .isLessThan(1.006);
      }
    }
  }

  @Test
  void everySampleIsDeliveredOnceApartFromPadding() {
    Costs costs = Costs.computed(SIZE, i -> i % 10 == 0 ? 1000 : 100);
    LoadBalancingDistributedSampler plan = plan(costs, 2, 8, StepGrouping.BUCKETED, 3);
    long[] seen =
        IntStream.range(0, 2)
            .mapToObj(plan::forRank)
            .flatMapToLong(rank -> Arrays.stream(Cursors.withoutPadding(rank, 5)))
            .sorted()
            .toArray();
    assertThat(seen).isEqualTo(LongStream.range(0, SIZE).toArray());
    Elastic.assertEverySampleOnce(
        plan::forRank, plan(costs, 3, 8, StepGrouping.BUCKETED, 3)::forRank, SIZE, 100);
  }

  @Test
  void paddingOfEvenStepsIsTheStartOfTheBaseOrder() {
    Costs costs = Costs.computed(SIZE, i -> 1000 + i % 7);
    LoadBalancingDistributedSampler plan = plan(costs, 4, 8, StepGrouping.BUCKETED, 3);
    SeekablePermutation order = SeekablePermutation.of(SIZE, 3, 2);
    assertThat(padding(plan, 2))
        .containsExactlyInAnyOrderElementsOf(
            LongStream.range(0, 24).map(order::at).boxed().toList());
  }

  private static List<Long> padding(LoadBalancingDistributedSampler plan, long epoch) {
    return IntStream.range(0, plan.part().worldSize())
        .mapToObj(plan::forRank)
        .flatMap(
            rank -> {
              try (Cursor cursor = rank.epoch(epoch)) {
                long[] all = Cursors.rest(cursor);
                return IntStream.range(0, all.length)
                    .filter(cursor::isPadding)
                    .mapToObj(i -> all[i])
                    .toList()
                    .stream();
              }
            })
        .toList();
  }

  @Test
  void statesWithAnUnknownPaddingAreRefused() {
    Sampler plan = plan(Costs.of(1, 2, 3), 2, 1, StepGrouping.BUCKETED, 0);
    SamplerState state = SamplerState.of(plan, 0, 1);
    SamplerState unknown =
        new SamplerState(
            state.plan().with("padding", "ODD"), 0, state.segments(), false, state.orderDigest());
    assertThatExceptionOfType(ResumeMismatchException.class)
        .isThrownBy(() -> unknown.resume(plan))
        .withMessageContaining("padding ODD, but the plan has EVEN");
    Sampler dropped =
        LoadBalancingDistributedSampler.builder(Costs.of(1, 2, 3), new Part(2, 0), 1)
            .tail(Tail.DROP)
            .build();
    assertThat(dropped.parameters().values()).doesNotContainKey("padding");
  }

  @Nested
  class Clusters {
    private static int[] taken(EvenPadding padding, int padded, long... costs) {
      int[] taken = new int[costs.length];
      for (int round = 0; round < padded; round++) {
        for (int i = 0; i < costs.length; i++) {
          taken[i] += padding.take(costs[i]) ? 1 : 0;
        }
      }
      assertThat(IntStream.of(taken).sum()).isEqualTo(padded);
      return taken;
    }

    /** 3 and 5 samples lack one each; the rest is added in pairs, two to the larger cluster. */
    @Test
    void clustersArePaddedInProportionToTheirSize() {
      EvenPadding padding = EvenPadding.of(new long[] {1, 1, 1, 9, 9, 9, 9, 9}, 8, 2, 8);
      assertThat(taken(requireNonNull(padding), 8, 1, 9)).containsExactly(3, 5);
    }

    @Test
    void costsBetweenClustersAreNotTaken() {
      EvenPadding padding = EvenPadding.of(new long[] {1, 1, 2, 9, 10, 10, 10, 11}, 8, 2, 8);
      for (long cost : new long[] {0, 3, 8, 12}) {
        assertThat(requireNonNull(padding).take(cost)).isFalse();
      }
    }

    @Test
    void clustersAreSplitAtTheWidestGapsThatThePaddingCanFill() {
      long[] costs = {1, 1, 1, 3, 3, 3, 90, 90, 90, 90}; // each gap can take two samples
      assertThat(taken(requireNonNull(EvenPadding.of(costs, 2, 2, 3)), 2, 1, 3, 90))
          .containsExactly(1, 1, 0);
      // With only 2 padding samples for 3 ranks, 1 and 3 stay together.
      assertThat(taken(requireNonNull(EvenPadding.of(costs, 2, 3, 2)), 2, 1, 3, 90))
          .containsExactly(0, 0, 2);
    }

    @Test
    void clustersHaveAtLeastAsManySamplesAsRanks() {
      assertThat(EvenPadding.of(new long[] {1, 1, 1, 1, 1, 50, 60, 70}, 8, 4, 4)).isNull();
    }

    @Test
    void costsWithoutAGapFormNoClusters() {
      assertThat(EvenPadding.of(LongStream.range(1000, 1100).toArray(), 28, 8, 16)).isNull();
      assertThat(EvenPadding.of(new long[] {0, 0, 0}, 1, 2, 2)).isNull();
    }
  }
}
