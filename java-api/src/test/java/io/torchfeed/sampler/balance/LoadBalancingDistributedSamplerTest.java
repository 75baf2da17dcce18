// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.testing.Cursors;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the balanced plan. */
class LoadBalancingDistributedSamplerTest {
  private static final Costs TWELVE = Costs.of(7, 8, 11, 4, 5, 2, 9, 10, 0, 6, 1, 3);

  @Test
  void anOptionIsSetOnce() {
    List<UnaryOperator<LoadBalancingDistributedSampler.Builder>> options =
        List.of(
            builder -> builder.grouping(StepGrouping.MIXED),
            builder -> builder.window(2),
            builder -> builder.jitter(0.1),
            builder -> builder.seed(3),
            builder -> builder.tail(Tail.DROP));
    for (UnaryOperator<LoadBalancingDistributedSampler.Builder> option : options) {
      LoadBalancingDistributedSampler.Builder builder =
          option.apply(LoadBalancingDistributedSampler.builder(Costs.of(1, 2), Part.whole(), 1));
      assertThatIllegalStateException()
          .isThrownBy(() -> option.apply(builder))
          .withMessageContaining("was already set to");
    }
  }

  @Test
  void theWorkedExampleIsReproduced() {
    LoadBalancingDistributedSampler rank0 =
        LoadBalancingDistributedSampler.builder(TWELVE, new Part(2, 0), 2)
            .window(3)
            .jitter(0)
            .seed(42)
            .build();
    assertThat(Cursors.indices(rank0, 0)).containsExactly(1, 2, 5, 10, 0, 3);
    assertThat(Cursors.indices(rank0.forRank(1), 0)).containsExactly(7, 6, 11, 8, 4, 9);
  }

  @Test
  void anEmptyDatasetHasNoSteps() {
    Sampler empty = LoadBalancingDistributedSampler.builder(Costs.of(), new Part(3, 1), 4).build();
    assertThat(empty.size()).isZero();
    assertThat(Cursors.indices(empty, 5)).isEmpty();
  }

  @Test
  void fewerSamplesThanAStepAreRepeatedOrDropped() {
    LoadBalancingDistributedSampler padded =
        LoadBalancingDistributedSampler.builder(Costs.of(3, 1), new Part(2, 0), 3).build();
    long[] all =
        IntStream.range(0, 2)
            .mapToObj(padded::forRank)
            .flatMapToLong(rank -> Arrays.stream(Cursors.indices(rank, 0)))
            .sorted()
            .toArray();
    assertThat(all).containsExactly(0, 0, 0, 1, 1, 1);
    assertThat(IntStream.range(0, 2).map(r -> Cursors.withoutPadding(padded.forRank(r), 0).length))
        .satisfies(counts -> assertThat(counts.stream().mapToInt(i -> i).sum()).isEqualTo(2));
    Sampler dropped =
        LoadBalancingDistributedSampler.builder(Costs.of(3, 1), new Part(2, 0), 3)
            .tail(Tail.DROP)
            .build();
    assertThat(dropped.size()).isZero();
  }

  @Test
  void zeroCostsAndTheLargestCostsAreBalanced() {
    Costs costs = Costs.computed(64, i -> i % 2 == 0 ? 0 : (1L << 42) - 1);
    BalanceReport report = report(costs, 4, 4, plan -> plan.grouping(StepGrouping.MIXED));
    assertThat(report.real().max()).isEqualTo(1);
    assertThat(report(costs, 4, 4, plan -> plan.jitter(0.5)).rankSpread()).isZero();
  }

  @Test
  void resumingWithTheSameWorldSizeContinuesInMidStep() {
    LoadBalancingDistributedSampler plan =
        LoadBalancingDistributedSampler.builder(TWELVE, new Part(2, 1), 2).window(2).build();
    long[] whole = Cursors.indices(plan, 3);
    List<EpochSegment> parts =
        List.of(new EpochSegment(2, 2), new EpochSegment(5, 0), new EpochSegment(2, 1));
    try (Cursor cursor = plan.resume(3, parts)) {
      assertThat(Cursors.rest(cursor)).isEqualTo(Arrays.copyOfRange(whole, 3, whole.length));
    }
  }

  @Test
  void parametersIncludeEverythingThatDeterminesTheOrder() {
    LoadBalancingDistributedSampler plan =
        LoadBalancingDistributedSampler.builder(TWELVE, new Part(2, 1), 3)
            .seed(9)
            .jitter(-0.0)
            .build();
    assertThat(plan.order().kind()).isEqualTo("torchfeed.LoadBalancingDistributedSampler");
    assertThat(plan.order().values())
        .containsEntry("datasetSize", "12")
        .containsEntry("costs", TWELVE.digest())
        .containsEntry("batchSize", "3")
        .containsEntry("grouping", "BUCKETED")
        .containsEntry("dealing", "LARGEST_FIRST")
        .containsEntry("window", "256")
        .containsEntry("jitter", "0.0")
        .containsEntry("seed", "9")
        .containsEntry("tail", "PAD");
    assertThat(plan.parameters())
        .isEqualTo(plan.order().with("worldSize", 2).with("rank", 1))
        .isEqualTo(plan.forRank(0).forRank(1).parameters());
    assertThat(plan.batchSize()).isEqualTo(3);
  }

  /** Short epochs and batches of 8, so the bounds are wide. */
  @Nested
  class OnFiveLoads {
    private static final int SIZE = 5_000;
    private static final int WORLD_SIZE = 8;
    private static final int BATCH_SIZE = 8;

    @ParameterizedTest
    @EnumSource(Load.class)
    void mixedStepsAreBalanced(Load load) {
      BalanceReport report =
          report(load.costs(), WORLD_SIZE, BATCH_SIZE, plan -> plan.grouping(StepGrouping.MIXED));
      load.assertBalanced(report);
      assertThat(report.randomness().batchMates()).isLessThan(0.02);
    }

    @ParameterizedTest
    @EnumSource(Load.class)
    void bucketedStepsAreBalancedWithLittlePadding(Load load) {
      BalanceReport report = report(load.costs(), WORLD_SIZE, BATCH_SIZE, plan -> plan);
      load.assertBalanced(report);
      assertThat(report.padding()).isLessThan(load.mostPadding);
      assertThat(report.randomness().batchMates()).isLessThan(0.15);
      assertThat(report.randomness().betweenEpochs()).isCloseTo(0, within(0.35));
    }

    @Test
    void imbalanceOfAStepIsCompensatedByOtherSteps() {
      Costs clusters = Costs.computed(8_000, i -> i < 4_003 ? 50 : 500);
      BalanceReport report = report(clusters, 8, 32, plan -> plan);
      assertThat(report.real().max()).isLessThan(1.005);
    }

    @Test
    void randomStepsAreBalanced() {
      BalanceReport report =
          report(
              Load.UNIFORM.costs(),
              WORLD_SIZE,
              BATCH_SIZE,
              plan -> plan.grouping(StepGrouping.MIXED).window(1));
      assertThat(report.real().mean()).isLessThan(1.005);
    }

    private enum Load {
      LOGNORMAL(0.12),
      UNIFORM(0.03),
      CLUSTERS(0.03),
      EQUAL(1e-9),
      GIANT(1);

      private final double mostPadding;

      Load(double mostPadding) {
        this.mostPadding = mostPadding;
      }

      private Costs costs() {
        Random random = new Random(5);
        return Costs.computed(SIZE, index -> cost(index, random));
      }

      private long cost(long index, Random random) {
        return switch (this) {
          case LOGNORMAL -> Math.round(Math.exp(4 + 0.8 * random.nextGaussian()));
          case UNIFORM -> 10 + random.nextInt(491);
          case CLUSTERS -> random.nextBoolean() ? 50 : 500;
          case EQUAL -> 7;
          case GIANT -> index == 77 ? 1_000_000 : 100;
        };
      }

      private void assertBalanced(BalanceReport report) {
        assertThat(report.real().mean() / report.bound().mean()).isLessThan(1.003);
        assertThat(report.real().p99() / report.bound().p99()).isLessThan(1.04);
        if (this != GIANT) {
          assertThat(report.rankSpread()).isLessThan(0.01);
        }
      }
    }
  }

  @Nested
  class WrongArguments {
    @ParameterizedTest
    @ValueSource(doubles = {-0.1, 0.51, Double.NaN, Double.POSITIVE_INFINITY})
    void jitterOutOfRangeIsRefused(double jitter) {
      refused(plan -> plan.jitter(jitter), "jitter must be in [0, 0.5], got " + jitter);
    }

    @Test
    void otherOptionsOutOfRangeAreRefused() {
      refused(plan -> plan.window(0), "window must be at least 1, got 0");
      refused(plan -> plan.tail(Tail.UNEVEN), "tail must be PAD or DROP");
      refused(2, 0, "batchSize must be at least 1, got 0");
      refused(2, 1 << 21, "worldSize * batchSize must be at most 2097152, got 2 * 2097152");
      refused(1 << 30, 1 << 30, "worldSize * batchSize must be at most 2097152");
    }

    @Test
    void optionsAtTheirLimitsAreAccepted() {
      Sampler widest =
          LoadBalancingDistributedSampler.builder(TWELVE, new Part(1 << 21, (1 << 21) - 1), 1)
              .window(Integer.MAX_VALUE)
              .build();
      assertThat(widest.size()).isEqualTo(1);
    }

    @Test
    void segmentsLongerThanTheRemainderAreRefused() {
      LoadBalancingDistributedSampler plan =
          LoadBalancingDistributedSampler.builder(TWELVE, new Part(2, 0), 2).build();
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan.resume(0, List.of(new EpochSegment(2, 4), new EpochSegment(2, 3))))
          .withMessageContaining("can have delivered at most 6");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan.resume(0, List.of(new EpochSegment(3, 4), new EpochSegment(1, 1))))
          .withMessageContaining("can have delivered at most 0");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan.resume(-1, List.of()))
          .withMessageContaining("epoch must be at least 0");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan.forRank(2))
          .withMessageContaining("Invalid rank 2");
    }

    private static void refused(
        UnaryOperator<LoadBalancingDistributedSampler.Builder> change, String message) {
      LoadBalancingDistributedSampler.Builder builder =
          change.apply(LoadBalancingDistributedSampler.builder(TWELVE, new Part(2, 0), 2));
      assertThatIllegalArgumentException()
          .isThrownBy(builder::build)
          .withMessageContaining(message);
    }

    private static void refused(int worldSize, int batchSize, String message) {
      LoadBalancingDistributedSampler.Builder builder =
          LoadBalancingDistributedSampler.builder(TWELVE, new Part(worldSize, 0), batchSize);
      assertThatIllegalArgumentException()
          .isThrownBy(builder::build)
          .withMessageContaining(message);
    }
  }

  private static BalanceReport report(
      Costs costs,
      int worldSize,
      int batchSize,
      UnaryOperator<LoadBalancingDistributedSampler.Builder> options) {
    LoadBalancingDistributedSampler plan =
        options
            .apply(
                LoadBalancingDistributedSampler.builder(costs, new Part(worldSize, 0), batchSize))
            .build();
    return BalanceReport.over(costs, worldSize).samplers(batchSize, plan::forRank);
  }
}
