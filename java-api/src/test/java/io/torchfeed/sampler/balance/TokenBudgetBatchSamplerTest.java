// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.internal.Hash64;
import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Part;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.LongUnaryOperator;
import java.util.stream.LongStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests of variable-size batches under a budget, balanced over all ranks. */
class TokenBudgetBatchSamplerTest {
  private static final int SAMPLES = 50_000;

  @Property(tries = 300)
  void everySampleFitsTheBudgetOnceAndRanksHaveEqualCounts(
      @ForAll @Size(max = 400) List<@LongRange(max = 60) Long> lengths,
      @ForAll @IntRange(min = 1, max = 9) int worldSize,
      @ForAll @IntRange(min = 60, max = 400) int budget,
      @ForAll @IntRange(min = 1, max = 40) int maxSamples,
      @ForAll long seed,
      @ForAll @LongRange(max = 3) long epoch) {
    Costs costs = Costs.computed(lengths.size(), index -> lengths.get((int) index));
    TokenBudgetBatchSampler first =
        TokenBudgetBatchSampler.of(costs, budget, new Part(worldSize, 0))
            .withMaxSamples(maxSamples)
            .withSeed(seed);
    List<Long> once = new ArrayList<>();
    int padding = 0;
    for (int rank = 0; rank < worldSize; rank++) {
      TokenBudgetBatchSampler sampler = first.forRank(rank);
      List<long[]> batches = batches(sampler, epoch);
      assertThat((long) batches.size()).isEqualTo(first.batches(epoch));
      try (BatchCursor cursor = sampler.epoch(epoch)) {
        for (int i = 0; i < batches.size(); i++) {
          long[] batch = batches.get(i);
          assertThat(batch.length).isBetween(1, Math.min(maxSamples, sampler.maxBatchSize()));
          assertThat(paddedCost(costs, batch)).isLessThanOrEqualTo(budget);
          for (int element = 0; element < batch.length; element++) {
            if (cursor.isPadding(i, element)) {
              padding++;
            } else {
              once.add(batch[element]);
            }
          }
        }
      }
    }
    assertThat(once.stream().mapToLong(Long::longValue).sorted().toArray())
        .isEqualTo(LongStream.range(0, lengths.size()).toArray());
    assertThat(padding).isLessThan(worldSize);
    assertThat(padding == 0 || first.batches(epoch) * worldSize == once.size() + padding).isTrue();
  }

  @Property(tries = 100)
  void seekingEqualsSkipping(
      @ForAll @Size(min = 1, max = 300) List<@LongRange(min = 1, max = 50) Long> lengths,
      @ForAll long seed,
      @ForAll @IntRange(max = 1000) int permille) {
    Costs costs = Costs.computed(lengths.size(), index -> lengths.get((int) index));
    BatchSampler sampler = TokenBudgetBatchSampler.of(costs, 100, new Part(3, 1)).withSeed(seed);
    List<long[]> all = batches(sampler, 5);
    int position = all.size() * permille / 1000;
    try (BatchCursor cursor = sampler.epoch(5)) {
      cursor.seek(all.size());
      cursor.seek(position);
      assertThat(cursor.position()).isEqualTo(position);
      assertThat(cursor.remaining()).isEqualTo(all.size() - position);
      assertThat(rest(cursor, sampler.maxBatchSize()))
          .usingRecursiveComparison()
          .isEqualTo(all.subList(position, all.size()));
    }
  }

  /** Checks the five loads of the issue against its bounds. */
  @ParameterizedTest
  @CsvSource({
    "lognormal, 8",
    "lognormal, 64",
    "zipf, 8",
    "zipf, 64",
    "uniform, 8",
    "uniform, 64",
    "clusters, 8",
    "clusters, 64",
    "giant, 8",
    "giant, 64"
  })
  void stepsAreBalancedWithLittlePaddingAndBatchMatesChange(String load, int worldSize) {
    Costs costs = load(load);
    TokenBudgetBatchSampler sampler =
        TokenBudgetBatchSampler.of(costs, budget(costs), new Part(worldSize, 0)).withSeed(7);
    BalanceReport report = BalanceReport.over(costs, worldSize).batchSamplers(sampler::forRank);
    assertThat(report.samples()).isEqualTo(SAMPLES);
    assertThat(report.padded().mean()).isLessThanOrEqualTo(1.008);
    assertThat(report.padded().p99()).isLessThanOrEqualTo(1.04);
    assertThat(report.padding()).isLessThanOrEqualTo(0.04);
    assertThat(report.randomness().batchMates()).isLessThanOrEqualTo(0.1);
    double sigma = 1 / Math.sqrt((double) report.steps()); // similar samples move together
    assertThat(report.randomness().betweenEpochs()).isBetween(-5 * sigma, 5 * sigma);
  }

  @Test
  void anEpochMayHaveManyWindows() {
    int samples = 700_000;
    Costs costs = Costs.computed(samples, index -> 1 + (Hash64.mix(index) >>> 57));
    TokenBudgetBatchSampler sampler = TokenBudgetBatchSampler.of(costs, 1000, new Part(2, 0));
    BalanceReport report = BalanceReport.over(costs, 2).batchSamplers(sampler::forRank);
    assertThat(report.samples()).isEqualTo(samples);
    assertThat(report.paddingSamples()).isZero();
    assertThat(report.padded().mean()).isLessThanOrEqualTo(1.008);
    boolean[] seen = new boolean[samples];
    for (int rank = 0; rank < 2; rank++) {
      for (long[] batch : batches(sampler.forRank(rank), 0)) {
        for (long index : batch) {
          assertThat(seen[(int) index]).isFalse();
          seen[(int) index] = true;
        }
      }
    }
  }

  @Test
  void batchesAreReproducibleAndDifferBySeed() {
    Costs costs = Costs.computed(1000, index -> 1 + index % 37);
    TokenBudgetBatchSampler sampler = TokenBudgetBatchSampler.of(costs, 200, new Part(2, 1));
    BatchSampler same = TokenBudgetBatchSampler.of(costs, 200, new Part(2, 0)).forRank(1);
    BatchSampler other = sampler.withSeed(1L << 40);
    assertThat(same.digest()).isEqualTo(sampler.digest()).isNotEqualTo(other.digest());
    assertThat(batches(sampler, 3)).usingRecursiveComparison().isEqualTo(batches(same, 3));
    assertThat(flat(batches(sampler, 3)))
        .isNotEqualTo(flat(batches(other, 3)))
        .isNotEqualTo(flat(batches(sampler, 4)));
  }

  @Nested
  class AtTheLimits {
    @Test
    void anEmptyDatasetHasNoBatches() {
      BatchSampler sampler = TokenBudgetBatchSampler.of(Costs.of(), 1, new Part(3, 2));
      assertThat(sampler.batches(0)).isZero();
      assertThat(sampler.maxBatchSize()).isEqualTo(1);
      assertThat(batches(sampler, 0)).isEmpty();
    }

    @Test
    void fewerSamplesThanRanksAreRepeatedAndFlagged() {
      TokenBudgetBatchSampler sampler =
          TokenBudgetBatchSampler.of(Costs.of(4, 9), 9, new Part(5, 0));
      int flagged = 0;
      for (int rank = 0; rank < 5; rank++) {
        assertThat(batches(sampler.forRank(rank), 0))
            .hasSize(1)
            .allMatch(batch -> batch.length == 1);
        try (BatchCursor cursor = sampler.forRank(rank).epoch(0)) {
          flagged += cursor.isPadding(0, 0) ? 1 : 0;
        }
      }
      assertThat(flagged).isEqualTo(3);
    }

    @Test
    void zeroCostSamplesFillBatchesUpToTheBudget() {
      BatchSampler sampler = TokenBudgetBatchSampler.of(Costs.of(0, 0, 0, 0, 0), 2);
      assertThat(batches(sampler, 0)).hasSize(3).allMatch(batch -> batch.length <= 2);
    }

    @Test
    void theLargestCostsAndBudgetDoNotOverflow() {
      long most = (1L << 42) - 1;
      BatchSampler sampler =
          TokenBudgetBatchSampler.of(Costs.of(most, most, 1, 1, most - 1, 2), most);
      assertThat(batches(sampler, 0)).hasSize(4);
    }

    @Test
    void invalidArgumentsAreRefused() {
      Costs costs = Costs.of(3, 12, 5);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> TokenBudgetBatchSampler.of(costs, 11))
          .withMessageContaining("budget 11, got cost 12 at index 1");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> TokenBudgetBatchSampler.of(costs, 0))
          .withMessageContaining("budget must be in [1, 2^42), got 0");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> TokenBudgetBatchSampler.of(costs, 1L << 42))
          .withMessageContaining("got 4398046511104");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> TokenBudgetBatchSampler.of(costs, 12, new Part(65_537, 2)))
          .withMessageContaining("got 65537");
      TokenBudgetBatchSampler sampler = TokenBudgetBatchSampler.of(costs, 12);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> sampler.withMaxSamples(0))
          .withMessageContaining("maxSamples must be at least 1, got 0");
      assertThatIllegalArgumentException().isThrownBy(() -> sampler.epoch(-1));
      assertThatIllegalArgumentException().isThrownBy(() -> sampler.batches(-1));
    }

    @Test
    void optionsLeaveTheOthersAsTheyAre() {
      TokenBudgetBatchSampler plan = TokenBudgetBatchSampler.of(Costs.of(1), 2, new Part(2, 1));
      assertThat(plan.withMaxSamples(1).withSeed(3).parameters())
          .isEqualTo(plan.withSeed(3).withMaxSamples(1).parameters())
          .isNotEqualTo(plan.withSeed(3).parameters())
          .isNotEqualTo(plan.withMaxSamples(1).parameters());
      assertThat(plan.withMaxSamples(1).forRank(0).withSeed(3).part()).isEqualTo(new Part(2, 0));
    }
  }

  @Nested
  class ACursor {
    private final BatchSampler sampler = TokenBudgetBatchSampler.of(Costs.of(5, 5, 5, 5), 10);

    @Test
    void doesNotMoveIfTheBatchDoesNotFit() {
      try (BatchCursor cursor = sampler.epoch(0)) {
        assertThatThrownBy(() -> cursor.next(new long[2], 1))
            .isInstanceOf(IndexOutOfBoundsException.class);
        assertThat(cursor.position()).isZero();
        assertThat(cursor.next(new long[2], 0)).isEqualTo(2);
      }
    }

    @Test
    void refusesPositionsOutsideTheEpoch() {
      try (BatchCursor cursor = sampler.epoch(0)) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> cursor.seek(3))
            .withMessageContaining("position must be in [0, 2], got 3");
        assertThatIllegalArgumentException().isThrownBy(() -> cursor.seek(-1));
        assertThatThrownBy(() -> cursor.isPadding(2, 0))
            .isInstanceOf(IndexOutOfBoundsException.class);
        assertThatThrownBy(() -> cursor.isPadding(0, 2))
            .isInstanceOf(IndexOutOfBoundsException.class);
      }
    }

    @Test
    void isUnusableOnceClosed() {
      BatchCursor cursor = sampler.epoch(0);
      cursor.close();
      cursor.close();
      assertThatIllegalStateException()
          .isThrownBy(() -> cursor.next(new long[2], 0))
          .withMessageContaining("is closed");
      assertThatIllegalStateException().isThrownBy(cursor::position);
      assertThatIllegalStateException().isThrownBy(cursor::remaining);
      assertThatIllegalStateException().isThrownBy(() -> cursor.seek(0));
      assertThatIllegalStateException().isThrownBy(() -> cursor.isPadding(0, 0));
    }
  }

  private static Costs load(String name) {
    Random random = new Random(1);
    LongUnaryOperator length =
        switch (name) {
          case "lognormal" ->
              i -> Math.max(1, Math.round(Math.exp(4 + 0.8 * random.nextGaussian())));
          case "zipf" -> i -> Math.min(5000, 10 * zipf(random));
          case "uniform" -> i -> 10 + random.nextInt(491);
          case "clusters" -> i -> i % 2 == 0 ? 50 : 500;
          case "giant" -> i -> i == SAMPLES / 3 ? 20_000 : 10 + random.nextInt(491);
          default -> throw new IllegalArgumentException(name);
        };
    return Costs.computed(SAMPLES, length);
  }

  /** Draws from the zeta distribution with exponent 1.5, by Devroye's rejection method. */
  private static long zipf(Random random) {
    double b = Math.sqrt(2);
    while (true) {
      double x = Math.floor(Math.pow(1 - random.nextDouble(), -2));
      double t = Math.sqrt(1 + 1 / x);
      if (random.nextDouble() * x * (t - 1) / (b - 1) <= t / b) {
        return (long) Math.min(x, 1e9);
      }
    }
  }

  /** Returns the average cost of 32 samples, but at least the longest sample's. */
  private static long budget(Costs costs) {
    long sum = 0;
    long longest = 0;
    for (int i = 0; i < costs.size(); i++) {
      sum += costs.at(i);
      longest = Math.max(longest, costs.at(i));
    }
    return Math.max(longest, 32 * sum / costs.size());
  }

  private static long paddedCost(Costs costs, long[] batch) {
    return batch.length * Arrays.stream(batch).map(costs::at).max().orElse(0);
  }

  private static List<long[]> batches(BatchSampler sampler, long epoch) {
    try (BatchCursor cursor = sampler.epoch(epoch)) {
      return rest(cursor, sampler.maxBatchSize());
    }
  }

  private static List<long[]> rest(BatchCursor cursor, int maxBatchSize) {
    List<long[]> batches = new ArrayList<>();
    long[] indices = new long[maxBatchSize];
    for (int size = cursor.next(indices, 0); size > 0; size = cursor.next(indices, 0)) {
      batches.add(Arrays.copyOf(indices, size));
    }
    return batches;
  }

  private static long[] flat(List<long[]> batches) {
    return batches.stream().flatMapToLong(Arrays::stream).toArray();
  }
}
