// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.ResumableCursor;
import io.torchfeed.sampler.ResumeMismatchException;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.SamplerState;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.balance.Costs;
import io.torchfeed.sampler.balance.LoadBalancingDistributedSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import io.torchfeed.testing.Cursors;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests of nested plans: which must differ, and which must still resume. */
class NestedPlansTest {
  private static final Duration LIMIT = Duration.ofMinutes(1); // exceeded only by a hang
  private static final ShardShuffleSampler SHARDS =
      ShardShuffleSampler.of(new long[] {10, 10, 10, 10}, 1, 7);

  @Test
  void plansThatDivideTheSamePlanByDifferentRulesDiffer() {
    Costs costs = Costs.of(5, 3, 9, 1, 7, 2, 8, 6, 4, 0, 2);
    List<Sampler> plans =
        List.of(
            ShardedSampler.blocked(SHARDS, 2, new Part(2, 0)),
            BlockedSampler.of(SHARDS, 2, new Part(2, 0)),
            BlockedSampler.of(BlockedSampler.of(SHARDS, 2, Part.whole()), 2, new Part(2, 0)),
            StridedSampler.of(SHARDS, new Part(2, 0)),
            StridedSampler.of(balanced(costs, 1, Tail.DROP), new Part(2, 0)),
            StridedSampler.of(balanced(costs, 1, Tail.PAD), new Part(2, 0)),
            balanced(costs, 2, Tail.PAD));
    Set<String> parameters = new HashSet<>();
    Set<String> digests = new HashSet<>();
    Set<PlanParameters> orders = new HashSet<>();
    for (Sampler plan : plans) {
      assertThat(parameters.add(plan.parameters().toString())).as("%s", plan).isTrue();
      assertThat(digests.add(plan.digest())).as("%s", plan).isTrue();
      assertThat(orders.add(plan.order())).as("%s", plan).isTrue();
      assertThat(plan.order().values()).doesNotContainKeys("worldSize", "rank");
    }
  }

  @Test
  void batchesOfAPlanKeepTheParametersOfThePlan() {
    Sampler plan = balanced(Costs.of(1, 2, 3, 4), 1, Tail.PAD);
    assertThat(FixedSizeBatchSampler.of(plan, 2).digest())
        .isNotEqualTo(FixedSizeBatchSampler.of(plan, 3).digest());
    assertThat(FixedSizeBatchSampler.of(plan, 2).parameters().values().values())
        .containsAll(plan.parameters().values().values());
  }

  @Test
  void unevenShardsResumeFromTheStateOfTheLongestRank() {
    ShardShuffleSampler shards = ShardShuffleSampler.inOrder(100, 10);
    Sampler first = ShardedSampler.strided(shards, new Part(2, 0)).withTail(Tail.UNEVEN);
    Sampler second = ShardedSampler.strided(shards, new Part(2, 1)).withTail(Tail.UNEVEN);
    SamplerState state = SamplerState.of(first, 0, 50);
    try (ResumableCursor.OfIndices shorter = state.resume(second);
        ResumableCursor.OfIndices longer = state.resume(first)) {
      assertThat(shorter.remaining()).isZero();
      assertThat(longer.remaining()).isEqualTo(50);
    }
  }

  @Test
  void positionsBeyondTheLongestRankAreRefused() {
    Sampler plan = StridedSampler.of(SHARDS, new Part(3, 2)).withTail(Tail.UNEVEN);
    SamplerState state =
        new SamplerState(
            plan.order(),
            0,
            List.of(new EpochSegment(3, 15)),
            false,
            SamplerState.of(plan, 0, 1).orderDigest());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> state.resume(plan))
        .withMessageContaining("can have delivered at most 14");
  }

  static Stream<UnaryOperator<Sampler>> wrappers() {
    return Stream.of(
        plan -> ConcatenatedSampler.of(List.of(new MixedSampler.Source(plan, 0))),
        plan -> MixedSampler.untilAllExhausted(List.of(new MixedSampler.Source(plan, 0)), 1),
        plan -> RepeatedSampler.of(plan, 5),
        plan -> StridedSampler.of(plan, Part.whole()),
        plan -> BlockedSampler.of(plan, 2, Part.whole()));
  }

  @ParameterizedTest
  @MethodSource("wrappers")
  void plansNestedTooDeeplyAreRefusedOnCreation(UnaryOperator<Sampler> wrapper) {
    Sampler deepest = nested(ListSampler.inOrder(4, 2, 9, 1, 3), wrapper, 64);
    for (int more : new int[] {1, 5000}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> nested(deepest, wrapper, more))
          .withMessageContaining("must nest at most 63 plans, got 64; combine");
    }
    assertThat(Cursors.indices(deepest, 0)).containsExactly(4, 2, 9, 1, 3);
    try (Cursor cursor = SamplerState.of(deepest, 2, 3).resume(deepest)) {
      assertThat(Cursors.rest(cursor)).containsExactly(1, 3);
    }
    assertThat(deepest.toString()).isNotBlank();
  }

  /** Every level of nesting counts, whatever its kind. */
  @Test
  void plansOfAllKindsCountAsNested() {
    Sampler plan = ListSampler.inOrder(4, 2);
    List<UnaryOperator<Sampler>> wrappers = wrappers().toList();
    for (int depth = 0; depth < 64; depth++) {
      plan = wrappers.get(depth % wrappers.size()).apply(plan);
    }
    Sampler deepest = plan;
    for (UnaryOperator<Sampler> wrapper : wrappers) {
      assertThatIllegalArgumentException().isThrownBy(() -> wrapper.apply(deepest));
    }
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DistributedBatchSampler.ofWholeBatches(deepest, 2, Part.whole()));
    assertThat(Cursors.indices(deepest, 1)).hasSize(5).containsOnly(4, 2);
  }

  /** Each level contains the one below twice: size and digest must not visit every path. */
  @Test
  void plansThatShareTheirSourcesAreCreatedQuickly() {
    Sampler leaf = ListSampler.inOrder(7);
    for (UnaryOperator<Sampler> twice :
        List.<UnaryOperator<Sampler>>of(
            plan ->
                ConcatenatedSampler.of(
                    List.of(new MixedSampler.Source(plan, 0), new MixedSampler.Source(plan, 0))),
            plan ->
                MixedSampler.untilAllExhausted(
                    List.of(new MixedSampler.Source(plan, 0), new MixedSampler.Source(plan, 0)),
                    1,
                    1))) {
      Sampler plan = assertTimeoutPreemptively(LIMIT, () -> nested(leaf, twice, 60));
      assertThat(plan.size()).isEqualTo(1L << 60);
      assertThat(assertTimeoutPreemptively(LIMIT, plan::digest)).hasSize(64);
    }
  }

  private static Sampler nested(Sampler leaf, UnaryOperator<Sampler> wrapper, int depth) {
    Sampler plan = leaf;
    for (int i = 0; i < depth; i++) {
      plan = wrapper.apply(plan);
    }
    return plan;
  }

  @Test
  void ordersTooLongToBeDividedAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> StridedSampler.of(SequentialSampler.of(Long.MAX_VALUE), new Part(3, 2)))
        .withMessageContaining("at most " + (1L << 62));
  }

  @Test
  void aStateOfBatchesWithSegmentsOfRanksIsRefused() {
    BatchSampler plan = FixedSizeBatchSampler.of(SHARDS, 5);
    SamplerState saved = SamplerState.of(plan, 0, 2);
    SamplerState other =
        new SamplerState(
            saved.plan(), 0, List.of(new EpochSegment(7, 3)), false, saved.orderDigest());
    assertThatIllegalArgumentException().isThrownBy(() -> other.resume(plan));
    SamplerState damaged = new SamplerState(saved.plan(), 0, saved.segments(), false, 123);
    assertThatExceptionOfType(ResumeMismatchException.class).isThrownBy(() -> damaged.resume(plan));
  }

  private static LoadBalancingDistributedSampler balanced(Costs costs, int worldSize, Tail tail) {
    return LoadBalancingDistributedSampler.builder(costs, new Part(worldSize, 0), 2)
        .tail(tail)
        .build();
  }
}
