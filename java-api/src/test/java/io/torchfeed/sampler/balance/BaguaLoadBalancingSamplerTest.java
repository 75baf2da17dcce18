// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.internal.Hash64;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.testing.Cursors;
import io.torchfeed.testing.Elastic;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Compares with orders of Bagua's class for the same costs, with torch 2.10.0. */
class BaguaLoadBalancingSamplerTest {
  private static final Costs TWELVE = Costs.of(7, 8, 11, 4, 5, 2, 9, 10, 0, 6, 1, 3);
  private static final Costs TEN = Costs.of(5, 3, 9, 1, 7, 2, 8, 0, 6, 4);

  @Test
  void withoutShuffleChunksAscend() {
    assertThat(ranks(2, 0, rank -> plan(TWELVE, 2, rank).inOrder()))
        .isDeepEqualTo(new long[][] {{8, 5, 3, 9, 1, 7}, {10, 11, 4, 0, 6, 2}});
    assertThat(ranks(3, 0, rank -> plan(TEN, 3, rank).inOrder()))
        .isDeepEqualTo(new long[][] {{7, 1, 8, 2}, {3, 9, 4, 7}, {5, 0, 6, 3}});
    assertThat(ranks(3, 0, rank -> plan(TEN, 3, rank).inOrder().withTail(Tail.DROP)))
        .isDeepEqualTo(new long[][] {{7, 1, 8}, {3, 9, 4}, {5, 0, 6}});
  }

  @Test
  void withShuffleChunksComeInRandomOrder() {
    assertThat(ranks(2, 0, rank -> plan(TWELVE, 2, rank)))
        .isDeepEqualTo(new long[][] {{8, 7, 1, 5, 3, 9}, {10, 2, 6, 11, 4, 0}});
    assertThat(ranks(2, 1, rank -> plan(TWELVE, 2, rank)))
        .isDeepEqualTo(new long[][] {{1, 8, 9, 3, 5, 7}, {6, 10, 0, 4, 11, 2}});
    assertThat(ranks(2, 0, rank -> plan(TWELVE, 2, rank).withSeed(1)))
        .isDeepEqualTo(ranks(2, 1, rank -> plan(TWELVE, 2, rank)));
    assertThat(ranks(3, 0, rank -> plan(TEN, 3, rank)))
        .isDeepEqualTo(new long[][] {{1, 2, 8, 7}, {9, 7, 4, 3}, {0, 3, 6, 5}});
  }

  @Test
  void noiseGrowsWithTheLevel() {
    assertThat(ranks(2, 0, rank -> plan(TWELVE, 2, rank).withLevel(0.5)))
        .isDeepEqualTo(new long[][] {{8, 7, 6, 5, 4, 0}, {3, 2, 1, 11, 10, 9}});
    assertThat(ranks(2, 0, rank -> plan(TWELVE, 2, rank).withLevel(1)))
        .isDeepEqualTo(new long[][] {{8, 6, 0, 5, 10, 1}, {3, 7, 2, 11, 9, 4}});
    assertThat(ranks(3, 0, rank -> plan(TEN, 3, rank).withLevel(0.5)))
        .isDeepEqualTo(new long[][] {{1, 2, 0, 3}, {9, 3, 4, 7}, {8, 7, 6, 5}});
  }

  @Test
  void fewerSamplesThanRanksAreRepeatedOrDropped() {
    Costs two = Costs.of(4, 1);
    assertThat(ranks(5, 0, rank -> plan(two, 5, rank)))
        .isDeepEqualTo(new long[][] {{1}, {0}, {1}, {0}, {1}});
    assertThat(ranks(5, 0, rank -> plan(two, 5, rank).withTail(Tail.DROP)))
        .isDeepEqualTo(new long[5][0]);
    assertThat(ranks(3, 0, rank -> plan(Costs.of(), 3, rank))).isDeepEqualTo(new long[3][0]);
  }

  @Test
  void paddingIsFlagged() {
    try (Cursor cursor = plan(TEN, 3, 1).inOrder().epoch(0)) {
      assertThat(IntStream.range(0, 4).mapToObj(cursor::isPadding))
          .containsExactly(false, false, false, true);
    }
  }

  @Property(tries = 300)
  void everySampleIsDeliveredOnceAfterAnyChangeOfTheWorldSize(
      @ForAll @IntRange(min = 0, max = 200) int size,
      @ForAll @IntRange(min = 1, max = 17) int before,
      @ForAll @IntRange(min = 1, max = 17) int after,
      @ForAll @IntRange(min = 0, max = 200) int step,
      @ForAll long seed) {
    Costs costs = Costs.computed(size, i -> Hash64.mix(seed + i) >>> 57);
    IntFunction<Sampler> first = rank -> plan(costs, before, rank).withLevel(0.2).withSeed(seed);
    IntFunction<Sampler> second = rank -> plan(costs, after, rank).withLevel(0.2).withSeed(seed);
    Elastic.assertEverySampleOnce(first, second, size, step);
  }

  @Property(tries = 100)
  void seekingEqualsSkipping(
      @ForAll @IntRange(min = 1, max = 200) int size,
      @ForAll @IntRange(min = 1, max = 9) int ranks) {
    Sampler plan = plan(Costs.computed(size, i -> i % 7), ranks, ranks - 1);
    Elastic.assertSeekEqualsSkip(plan, 3);
  }

  @Test
  void parametersIncludeEverythingThatDeterminesTheOrder() {
    BaguaLoadBalancingSampler plan = plan(TEN, 3, 1).withLevel(-0.0).withSeed(7);
    assertThat(plan.parameters().kind()).isEqualTo("bagua.LoadBalancingDistributedSampler");
    assertThat(plan.parameters().values())
        .containsExactlyEntriesOf(plan.order().with("worldSize", 3).with("rank", 1).values());
    assertThat(plan.order().values())
        .containsEntry("datasetSize", "10")
        .containsEntry("costs", TEN.digest())
        .containsEntry("shuffle", "true")
        .containsEntry("seed", "7")
        .containsEntry("level", "0.0")
        .containsEntry("tail", "PAD");
  }

  @ParameterizedTest
  @ValueSource(doubles = {-0.1, 1.1, Double.NaN, Double.POSITIVE_INFINITY})
  void levelsOutOfRangeAreRefused(double level) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> plan(TEN, 3, 0).withLevel(level))
        .withMessage("level must be in [0, 1], got " + level);
  }

  @Test
  void otherInvalidArgumentsAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> plan(TEN, 3, 0).withTail(Tail.UNEVEN))
        .withMessageContaining("got UNEVEN");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> plan(TEN, 3, 0).epoch(-1))
        .withMessageContaining("epoch must be at least 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> plan(TEN, 3, 0).resume(0, List.of(new EpochSegment(3, 5))))
        .withMessageContaining("can have delivered at most 4");
  }

  private static BaguaLoadBalancingSampler plan(Costs costs, int worldSize, int rank) {
    return BaguaLoadBalancingSampler.of(costs, new Part(worldSize, rank));
  }

  private static long[][] ranks(int worldSize, long epoch, IntFunction<? extends Sampler> plan) {
    return IntStream.range(0, worldSize)
        .mapToObj(rank -> Cursors.indices(plan.apply(rank), epoch))
        .toArray(long[][]::new);
  }
}
