// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Plans around plans: what must not look equal, and what must still resume. */
class NestedPlansTest {
  private static final ShardShuffleSampler SHARDS =
      ShardShuffleSampler.of(new long[] {10, 10, 10, 10}, 1, 7);

  @Test
  void plansThatDealAnotherOneByDifferentRulesDiffer() {
    Costs costs = Costs.of(5, 3, 9, 1, 7, 2, 8, 6, 4, 0, 2);
    List<DistributedSampler> plans =
        List.of(
            ShardedSampler.blocked(SHARDS, 2, 2, 0),
            BlockedSampler.of(SHARDS, 2, 2, 0),
            BlockedSampler.of(BlockedSampler.of(SHARDS, 2, 1, 0), 2, 2, 0),
            new StridedSampler(SHARDS, 2, 0),
            new StridedSampler(balanced(costs, 1, Tail.DROP), 2, 0),
            new StridedSampler(balanced(costs, 1, Tail.PAD), 2, 0),
            balanced(costs, 2, Tail.PAD));
    Set<String> parameters = new HashSet<>();
    Set<String> digests = new HashSet<>();
    Set<PlanParameters> orders = new HashSet<>();
    for (DistributedSampler plan : plans) {
      assertThat(parameters.add(plan.parameters().toString())).as("%s", plan).isTrue();
      assertThat(digests.add(plan.digest())).as("%s", plan).isTrue();
      assertThat(orders.add(plan.order())).as("%s", plan).isTrue();
      assertThat(plan.order().values()).doesNotContainKeys("worldSize", "rank");
    }
  }

  @Test
  void batchesOfAPlanKeepTheParametersOfThePlan() {
    Sampler plan = balanced(Costs.of(1, 2, 3, 4), 1, Tail.PAD);
    assertThat(new FixedBatches(plan, 2).digest()).isNotEqualTo(new FixedBatches(plan, 3).digest());
    assertThat(new FixedBatches(plan, 2).parameters().values().values())
        .containsAll(plan.parameters().values().values());
  }

  @Test
  void unevenShardsResumeFromTheStateOfTheLongestRank() {
    ShardShuffleSampler shards = ShardShuffleSampler.inOrder(100, 10);
    DistributedSampler first = ShardedSampler.strided(shards, 2, 0).withTail(Tail.UNEVEN);
    DistributedSampler second = ShardedSampler.strided(shards, 2, 1).withTail(Tail.UNEVEN);
    SamplerState state = SamplerState.of(first, 0, 50);
    try (ResumableCursor shorter = state.resume(second);
        ResumableCursor longer = state.resume(first)) {
      assertThat(shorter.remaining()).isZero();
      assertThat(longer.remaining()).isEqualTo(50);
    }
  }

  @Test
  void moreThanTheLongestRankHasIsRefused() {
    DistributedSampler plan = new StridedSampler(SHARDS, 3, 2, Tail.UNEVEN);
    SamplerState state =
        new SamplerState(
            plan.order(),
            0,
            List.of(new Segment(3, 15)),
            false,
            SamplerState.of(plan, 0, 1).orderDigest());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> state.resume(plan))
        .withMessageContaining("can have delivered 14 at most");
  }

  @Test
  void ordersTooLongToBeDealtAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new StridedSampler(new SequentialSampler(Long.MAX_VALUE), 3, 2))
        .withMessageContaining("at most " + (1L << 62));
  }

  @Test
  void aStateOfBatchesWithSegmentsOfRanksIsRefused() {
    BatchSampler plan = new FixedBatches(SHARDS, 5);
    SamplerState saved = SamplerState.ofBatches(plan, 0, 2);
    SamplerState other =
        new SamplerState(saved.plan(), 0, List.of(new Segment(7, 3)), false, saved.orderDigest());
    assertThatIllegalArgumentException().isThrownBy(() -> other.resumeBatches(plan));
    SamplerState damaged = new SamplerState(saved.plan(), 0, saved.segments(), false, 123);
    assertThatExceptionOfType(ResumeMismatchException.class)
        .isThrownBy(() -> damaged.resumeBatches(plan));
  }

  private static LoadBalancingDistributedSampler balanced(Costs costs, int worldSize, Tail tail) {
    return LoadBalancingDistributedSampler.builder(costs, worldSize, 0, 2).tail(tail).build();
  }
}
