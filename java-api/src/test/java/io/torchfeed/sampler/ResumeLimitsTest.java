// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.torchfeed.sampler.balance.BaguaLoadBalancingBatchSampler;
import io.torchfeed.sampler.balance.BaguaLoadBalancingSampler;
import io.torchfeed.sampler.balance.Costs;
import io.torchfeed.sampler.balance.LoadBalancingDistributedSampler;
import io.torchfeed.sampler.balance.TokenBudgetBatchSampler;
import io.torchfeed.sampler.order.BlockedSampler;
import io.torchfeed.sampler.order.DistributedBatchSampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.order.RepeatedSampler;
import io.torchfeed.sampler.order.ShardShuffleSampler;
import io.torchfeed.sampler.order.ShardedSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import io.torchfeed.testing.SamplerFamilies;
import java.time.Duration;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests that any numbers in segments are resumed or refused in bounded time and memory. */
class ResumeLimitsTest {
  private static final Duration LIMIT = Duration.ofMinutes(1); // exceeded only by a hang
  private static final int SIZE = 1000;
  private static final int RANKS = 3;
  private static final Costs COSTS = Costs.computed(SIZE, i -> 1 + i % 7);
  private static final ShardShuffleSampler SHARDS =
      ShardShuffleSampler.of(LongStream.range(0, 40).map(i -> 25).toArray(), 3, 5);
  private static final Sampler ENDLESS =
      RepeatedSampler.endless(SequentialSampler.of(SIZE).inJava());

  /** Around the numbers of samples and of the most ranks, and far above. */
  private static final int[] WORLD_SIZES = {
    1,
    RANKS,
    7,
    SIZE - 1,
    SIZE,
    SIZE + 1,
    65_535,
    65_536,
    65_537,
    (1 << 21) + 1,
    (1 << 24) + 1,
    Integer.MAX_VALUE
  };

  private static final long[] DELIVERED = {1, 334, SIZE, 1L << 31, Long.MAX_VALUE};

  /** One plan of each kind. */
  record Kind(String name, BatchSampler plan) {
    @Override
    public String toString() {
      return name;
    }
  }

  private static Kind samples(String name, Sampler plan) {
    return new Kind(name, FixedSizeBatchSampler.of(plan, 4));
  }

  static Stream<Kind> plansWhoseRanksAreLimited() {
    return Stream.of(
        samples(
            "BlockedSampler",
            BlockedSampler.of(ShuffledSampler.of(SIZE, 3), 7, new Part(RANKS, 1))),
        samples(
            "BlockedSampler, contiguous", BlockedSampler.contiguous(ENDLESS, new Part(RANKS, 1))),
        samples("BlockedSampler, endless", BlockedSampler.of(ENDLESS, 7, new Part(RANKS, 1))),
        samples("ShardedSampler", ShardedSampler.strided(SHARDS, new Part(RANKS, 1))),
        samples("ShardedSampler, blocked", ShardedSampler.blocked(SHARDS, 2, new Part(RANKS, 1))),
        samples(
            "ShardedSampler, contiguous", ShardedSampler.contiguous(SHARDS, new Part(RANKS, 1))),
        new Kind(
            "BaguaLoadBalancingBatchSampler",
            BaguaLoadBalancingBatchSampler.bySumOfCosts(
                BaguaLoadBalancingSampler.of(COSTS, new Part(RANKS, 1)), COSTS, 20)),
        new Kind(
            "TokenBudgetBatchSampler", TokenBudgetBatchSampler.of(COSTS, 20, new Part(RANKS, 1))));
  }

  static Stream<Kind> otherPlans() {
    return Stream.concat(
        Stream.of(
            samples(
                "LoadBalancingDistributedSampler",
                LoadBalancingDistributedSampler.builder(COSTS, new Part(RANKS, 1), 4).build()),
            samples(
                "BaguaLoadBalancingSampler",
                BaguaLoadBalancingSampler.of(COSTS, new Part(RANKS, 1))),
            new Kind(
                "DistributedBatchSampler of whole batches",
                DistributedBatchSampler.ofWholeBatches(ENDLESS, 4, new Part(RANKS, 1))),
            new Kind(
                "DistributedBatchSampler of global batches",
                DistributedBatchSampler.ofGlobalBatches(ENDLESS, 6, new Part(RANKS, 1)))),
        Stream.concat(
            SamplerFamilies.DIVIDED.stream()
                .map(
                    family ->
                        samples(family.name(), family.plan(SIZE, new Part(RANKS, 1), Tail.PAD, 3))),
            SamplerFamilies.WHOLE.stream()
                .map(family -> samples(family.name(), family.plans().of(SIZE, 3)))));
  }

  static Stream<Kind> plans() {
    return Stream.concat(plansWhoseRanksAreLimited(), otherPlans());
  }

  private static SamplerState state(BatchSampler plan, long epoch, List<EpochSegment> segments) {
    long digest = SamplerState.digest(plan, epoch, segments.get(0).worldSize());
    return new SamplerState(plan.order(), epoch, segments, false, digest);
  }

  @ParameterizedTest
  @MethodSource("plansWhoseRanksAreLimited")
  void moreRanksThanABuilderAcceptsAreRefused(Kind kind) {
    for (int worldSize : new int[] {65_537, 1 << 24, Integer.MAX_VALUE}) {
      EpochSegment tooMany = new EpochSegment(worldSize, 1);
      for (List<EpochSegment> segments :
          List.of(
              List.of(tooMany),
              List.of(new EpochSegment(2, 3), tooMany, new EpochSegment(RANKS, 1)))) {
        SamplerState state = state(kind.plan(), 0, segments);
        withinLimit(
            segments,
            () ->
                assertThatIllegalArgumentException()
                    .isThrownBy(() -> state.resume(kind.plan()))
                    .withMessage("worldSize must be in [1, 65536], got " + worldSize));
      }
    }
  }

  @ParameterizedTest
  @MethodSource("plans")
  void anyNumbersAreResumedOrRefused(Kind kind) {
    EpochSegment own = new EpochSegment(kind.plan().part().worldSize(), 1);
    for (int worldSize : WORLD_SIZES) {
      for (long delivered : DELIVERED) {
        EpochSegment odd = new EpochSegment(worldSize, delivered);
        withinLimit(
            odd,
            () -> {
              resume(kind, 1, List.of(odd));
              if (worldSize != own.worldSize()) {
                resume(kind, 1, List.of(own, odd));
                resume(kind, 1, List.of(odd, own));
              }
            });
      }
    }
  }

  @ParameterizedTest
  @MethodSource("plans")
  void anyEpochIsResumedOrRefused(Kind kind) {
    for (long epoch : new long[] {(1L << 32) - 1, 1L << 32, 1L << 61, Long.MAX_VALUE}) {
      List<EpochSegment> segments = List.of(new EpochSegment(kind.plan().part().worldSize(), 1));
      withinLimit(epoch, () -> resume(kind, epoch, segments));
    }
  }

  @ParameterizedTest
  @MethodSource("plans")
  void theMaximumNumberOfSegmentsIsResumedOrRefused(Kind kind) {
    List<EpochSegment> segments =
        LongStream.range(0, 1000).mapToObj(i -> new EpochSegment(1 + (int) (i % 2), 1)).toList();
    for (int count : new int[] {600, 1000}) {
      withinLimit(count, () -> resume(kind, 1, segments.subList(0, count)));
    }
  }

  private static void withinLimit(Object numbers, Executable body) {
    assertTimeoutPreemptively(LIMIT, body, () -> "with " + numbers);
  }

  private static void resume(Kind kind, long epoch, List<EpochSegment> segments) {
    try (ResumableCursor.OfBatches cursor =
        state(kind.plan(), epoch, segments).resume(kind.plan())) {
      long[] batch = new long[kind.plan().maxBatchSize()];
      int size = cursor.next(batch, 0);
      assertThat(size).isBetween(0, batch.length);
      assertThat(LongStream.of(batch).filter(i -> i < 0 || i >= SIZE)).isEmpty();
    } catch (IllegalArgumentException e) {
      assertThat(e.getMessage()).isNotBlank();
    }
  }

  @Test
  void plansWhoseTimeGrowsWithTheRanksLimitTheirNumber() {
    int tooMany = 65_537;
    String message = "worldSize must be in [1, 65536], got 65537";
    Stream.<ThrowingCallable>of(
            () -> BlockedSampler.contiguous(SHARDS, new Part(tooMany, 0)),
            () -> ShardedSampler.strided(SHARDS, new Part(tooMany, 0)),
            () -> TokenBudgetBatchSampler.of(COSTS, 20, new Part(tooMany, 0)),
            () ->
                BaguaLoadBalancingBatchSampler.bySumOfCosts(
                    BaguaLoadBalancingSampler.of(COSTS, new Part(tooMany, 0)), COSTS, 20))
        .forEach(
            made -> assertThatIllegalArgumentException().isThrownBy(made).withMessage(message));
    List<EpochSegment> empty = List.of(new EpochSegment(tooMany, 0));
    Part part = new Part(2, 0);
    Stream.<Plan<?>>of(
            BlockedSampler.contiguous(SHARDS, part),
            ShardedSampler.strided(SHARDS, part),
            TokenBudgetBatchSampler.of(COSTS, 20, part),
            BaguaLoadBalancingBatchSampler.bySumOfCosts(
                BaguaLoadBalancingSampler.of(COSTS, part), COSTS, 20))
        .forEach(
            plan ->
                assertThatIllegalArgumentException()
                    .isThrownBy(() -> plan.resume(0, empty))
                    .withMessage(message));
  }
}
