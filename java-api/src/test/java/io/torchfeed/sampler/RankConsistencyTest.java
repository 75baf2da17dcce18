// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.sampler.balance.BaguaLoadBalancingBatchSampler;
import io.torchfeed.sampler.balance.BaguaLoadBalancingSampler;
import io.torchfeed.sampler.balance.Costs;
import io.torchfeed.sampler.balance.TokenBudgetBatchSampler;
import io.torchfeed.sampler.cursor.PositionCursor;
import io.torchfeed.sampler.order.DistributedBatchSampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.sampler.order.StridedSampler;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import io.torchfeed.sampler.torch.DistributedSequentialSampler;
import io.torchfeed.sampler.torch.RandomSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import io.torchfeed.testing.SamplerFamilies;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of ranks, here threads, that compare their plans. */
class RankConsistencyTest {
  private static final int BATCH = 4;

  private static Sampler plan(long datasetSize, long seed, int worldSize, int rank) {
    return StridedSampler.of(RandomSampler.of(datasetSize, seed), new Part(worldSize, rank));
  }

  @Nested
  class RanksOfOnePlan {
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5})
    void agreeInOneExchange(int worldSize) {
      for (SamplerFamilies.Divided family : SamplerFamilies.DIVIDED) {
        for (Tail tail : family.tails()) {
          List<Sampler> plans = new ArrayList<>();
          for (int rank = 0; rank < worldSize; rank++) {
            plans.add(family.plan(23, new Part(worldSize, rank), tail, 9));
          }
          GatheringRanks ranks = new GatheringRanks(worldSize);
          assertThat(ranks.check(plans, 3, BATCH)).allMatch(String::isEmpty);
          assertThat(ranks.exchanges()).isEqualTo(1);
        }
      }
    }

    @Test
    void haveOneDigestThatDiffersBetweenEpochs() {
      assertThat(RankConsistency.digest(plan(50, 7, 2, 0), 3, BATCH))
          .isEqualTo(RankConsistency.digest(plan(50, 7, 2, 1), 3, BATCH))
          .isNotEqualTo(RankConsistency.digest(plan(50, 7, 2, 0), 4, BATCH));
    }

    @Test
    void agreeOnOrdersTooLongForMemory() {
      long n = 1L << 59;
      assertThatCode(
              () -> {
                RankConsistency.digest(DistributedRandomSampler.of(n, new Part(3, 1)), 0, BATCH);
                RankConsistency.digest(plan(n, 1, 3, 1), 0, BATCH);
                RankConsistency.digest(
                    DistributedSequentialSampler.of(n, new Part(3, 1)), 0, BATCH);
              })
          .doesNotThrowAnyException();
    }
  }

  @Nested
  class PlansInBatches {
    private static final Costs COSTS = Costs.computed(60, index -> 1 + index % 7);

    private List<String> check(BatchSampler... plans) {
      return new GatheringRanks(plans.length)
          .run((rank, gather) -> RankConsistency.beforeEpoch(plans[rank], 1, gather));
    }

    private BatchSampler budget(long budget, int rank) {
      return TokenBudgetBatchSampler.of(COSTS, budget, new Part(2, rank));
    }

    @Test
    void agree() {
      assertThat(check(budget(20, 0), budget(20, 1))).containsOnly("");
      BaguaLoadBalancingSampler samples = BaguaLoadBalancingSampler.of(COSTS, new Part(2, 0));
      BaguaLoadBalancingSampler others = BaguaLoadBalancingSampler.of(COSTS, new Part(2, 1));
      assertThat(
              check(
                  BaguaLoadBalancingBatchSampler.bySumOfCosts(samples, COSTS, 20),
                  BaguaLoadBalancingBatchSampler.bySumOfCosts(others, COSTS, 20)))
          .containsOnly("");
      assertThat(check(divided(4, 0), divided(4, 1))).containsOnly("");
      assertThat(check(fixed(4, 0), fixed(4, 1))).containsOnly("");
    }

    private BatchSampler divided(int batchSize, int rank) {
      return DistributedBatchSampler.ofWholeBatches(
          ShuffledSampler.of(60, 3), batchSize, new Part(2, rank));
    }

    private BatchSampler fixed(int batchSize, int rank) {
      return FixedSizeBatchSampler.of(plan(60, 3, 2, rank), batchSize);
    }

    @Test
    void reportTheDifference() {
      assertThat(check(budget(20, 0), budget(21, 1)))
          .containsOnly("the ranks' plans differ in budget: rank 0 has 20, rank 1 has 21");
      assertThat(check(fixed(4, 0), fixed(5, 1)))
          .containsOnly("the ranks' plans differ in batchSize: rank 0 has 4, rank 1 has 5");
      assertThat(check(divided(4, 0), fixed(4, 1)))
          .allMatch(message -> message.startsWith("the ranks' plans differ in kind: "));
    }

    @Test
    void reportRanksThatDeliverTheSameSamples() {
      assertThat(check(budget(20, 1), budget(20, 1)))
          .containsOnly("processes 0 and 1 deliver the same samples: both have the plan of rank 1");
      assertThat(check(budget(20, 0)))
          .containsOnly(
              "the sampler divides the order over 2, but the ranks are 1; pass group.part() to it");
    }

    @Test
    void haveStatesThatAgree() {
      List<String> agree =
          new GatheringRanks(2)
              .run(
                  (rank, gather) ->
                      RankConsistency.ofState(SamplerState.of(budget(20, rank), 0, 3), gather));
      assertThat(agree).containsOnly("");
    }
  }

  @Nested
  class RanksOfDifferentPlans {
    @Test
    void reportTheDatasetSize() {
      differ(
          "the ranks' plans differ in datasetSize: rank 0 has 50, rank 1 has 51, rank 2 has 50",
          plan(50, 7, 3, 0),
          plan(51, 7, 3, 1),
          plan(50, 7, 3, 2));
    }

    @Test
    void reportTheSeed() {
      differ(
          "the ranks' plans differ in seed: rank 0 has 7, rank 1 has -8",
          plan(50, 7, 2, 0),
          plan(50, -8, 2, 1));
    }

    @Test
    void reportTheKind() {
      differ(
          "differ in kind: rank 0 has libtorch.DistributedRandomSampler, "
              + "rank 1 has libtorch.DistributedSequentialSampler",
          DistributedRandomSampler.of(50, new Part(2, 0)),
          DistributedSequentialSampler.of(50, new Part(2, 1)));
    }

    @Test
    void reportTheWorldSize() {
      differ(
          "differ in worldSize: rank 0 has 2, rank 1 has 3", plan(50, 7, 2, 0), plan(50, 7, 3, 1));
    }

    @Test
    void reportTheTail() {
      differ(
          "differ in tail: rank 0 has PAD, rank 1 has DROP",
          DistributedRandomSampler.of(50, new Part(2, 0)),
          DistributedRandomSampler.of(50, new Part(2, 1)).withTail(Tail.DROP));
    }

    @Test
    void reportTheEpochAndTheBatchSize() {
      assertThat(
              new GatheringRanks(2)
                  .run(
                      (rank, gather) ->
                          RankConsistency.beforeEpoch(
                              plan(50, 7, 2, rank), 5L + rank, BATCH, gather)))
          .allMatch(m -> m.equals("the ranks' plans differ in epoch: rank 0 has 5, rank 1 has 6"));
      assertThat(
              new GatheringRanks(2)
                  .run(
                      (rank, gather) ->
                          RankConsistency.beforeEpoch(plan(50, 7, 2, rank), 5, 4 + rank, gather)))
          .allMatch(m -> m.contains("differ in batchSize: rank 0 has 4, rank 1 has 5"));
    }

    @Test
    void reportTheStepsOfAPlanThatOmitsAParameter() {
      differ(
          "differ in steps: rank 0 has 10, rank 1 has 5",
          new Forgetful(plan(80, 7, 2, 0)),
          new Forgetful(plan(40, 7, 2, 1)));
    }

    @Test
    void reportTheFirstDifferenceOfAnUnexplainedOrder() {
      differ(
          "differ in the sample at 0/64 of the order: rank 0 has 1, rank 1 has 0",
          StridedSampler.of(new Mislabelled(SequentialSampler.of(2), 1), new Part(2, 0)),
          StridedSampler.of(new Mislabelled(SequentialSampler.of(2), 0), new Part(2, 1)));
    }

    private static void differ(String message, Sampler... plans) {
      List<String> messages = new GatheringRanks(plans.length).check(List.of(plans), 0, BATCH);
      assertThat(messages).hasSize(plans.length).allMatch(each -> each.contains(message));
    }
  }

  @Nested
  class Parts {
    @Test
    void aPartHeldByTwoProcessesIsReported() {
      List<Sampler> plans = List.of(plan(50, 7, 3, 0), plan(50, 7, 3, 2), plan(50, 7, 3, 2));
      assertThat(new GatheringRanks(3).check(plans, 0, BATCH))
          .allMatch(
              m ->
                  m.equals(
                      "processes 1 and 2 deliver the same samples: both have the plan of rank 2"));
    }

    @Test
    void aPartHeldByNoProcessIsReported() {
      List<Sampler> plans = List.of(plan(50, 7, 3, 0), plan(50, 7, 3, 1));
      assertThat(new GatheringRanks(2).check(plans, 0, BATCH))
          .allMatch(m -> m.endsWith("over 3, but the ranks are 2; pass group.part() to it"));
    }

    @Test
    void anUndividedPlanIsRefusedOnSeveralProcesses() {
      List<Sampler> plans = List.of(SequentialSampler.of(50), SequentialSampler.of(50));
      assertThat(new GatheringRanks(2).check(plans, 0, BATCH))
          .allMatch(m -> m.endsWith("over 1, but the ranks are 2; pass group.part() to it"));
    }
  }

  @Nested
  class States {
    @Test
    void statesOfRanksAtTheSamePositionAgree() {
      assertThat(
              new GatheringRanks(3)
                  .run(
                      (rank, gather) ->
                          RankConsistency.ofState(
                              SamplerState.of(plan(50, 7, 3, rank), 2, 8), gather)))
          .allMatch(String::isEmpty);
    }

    @Test
    void statesOfRanksAtDifferentPositionsAreReported() {
      assertThat(
              new GatheringRanks(2)
                  .run(
                      (rank, gather) ->
                          RankConsistency.ofState(
                              SamplerState.of(plan(50, 7, 2, rank), 2, 8 + 4L * rank), gather)))
          .allMatch(
              m ->
                  m.startsWith("the ranks' states differ in segments: rank 0 has")
                      && m.contains("deliveredByEachRank=8")
                      && m.contains("deliveredByEachRank=12"));
    }
  }

  @Nested
  class BadInput {
    @Test
    void badInputIsRefused() {
      Sampler sampler = plan(50, 7, 1, 0);
      RankConsistency.AllGather alone = mine -> new long[][] {mine};
      assertThatIllegalArgumentException()
          .isThrownBy(() -> RankConsistency.beforeEpoch(sampler, -1, 4, alone))
          .withMessage("epoch must be at least 0, got -1");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> RankConsistency.beforeEpoch(sampler, 0, 0, alone))
          .withMessage("batchSize must be at least 1, got 0");
    }

    @Test
    void badInputOfARankInTheAllGatherIsReported() {
      Sampler sampler = plan(50, 7, 2, 0);
      for (long rank : new long[] {99, -1, 2, 1L << 32, Long.MIN_VALUE}) {
        RankConsistency.AllGather bad = mine -> new long[][] {mine, {mine[0], rank}};
        assertThatThrownBy(() -> RankConsistency.beforeEpoch(sampler, 0, 4, bad))
            .isInstanceOf(IllegalStateException.class)
            .hasMessage("the rank of process 1 must be in [0, 1], got " + rank);
      }
    }

    @Test
    @SuppressWarnings("NullAway") // the caller's all-gather may return anything
    void anAllGatherThatReturnsNullIsReported() {
      Sampler sampler = plan(50, 7, 1, 0);
      for (RankConsistency.AllGather bad :
          List.<RankConsistency.AllGather>of(mine -> null, mine -> new long[][] {mine, null})) {
        assertThatThrownBy(() -> RankConsistency.beforeEpoch(sampler, 0, 4, bad))
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining("one array of 2 numbers per rank");
      }
    }

    @Test
    void badResultsOfTheAllGatherAreReported() {
      Sampler sampler = plan(50, 7, 1, 0);
      for (RankConsistency.AllGather bad :
          List.<RankConsistency.AllGather>of(
              mine -> new long[0][], mine -> new long[][] {mine, {}})) {
        assertThatThrownBy(() -> RankConsistency.beforeEpoch(sampler, 0, 4, bad))
            .isInstanceOf(IllegalStateException.class)
            .hasMessageContaining("one array of 2 numbers per rank");
      }
    }
  }

  /** A plan whose parameters lack the size of the dataset. */
  private record Forgetful(Sampler plan) implements Sampler {
    @Override
    public Part part() {
      return plan.part();
    }

    @Override
    public PlanParameters order() {
      return PlanParameters.of("test.Forgetful");
    }

    @Override
    public Cursor resume(long epoch, List<EpochSegment> delivered) {
      return plan.resume(epoch, delivered);
    }

    @Override
    public long size() {
      return plan.size();
    }

    @Override
    public Cursor epoch(long epoch) {
      return plan.epoch(epoch);
    }

    @Override
    public PlanParameters parameters() {
      return order();
    }
  }

  /** Two samples, {@code first} before the other, under equal parameters. */
  private record Mislabelled(Sampler plan, long first) implements Sampler {
    @Override
    public long size() {
      return plan.size();
    }

    @Override
    public Cursor epoch(long epoch) {
      return new PositionCursor(this, 2) {
        @Override
        public void read(long start, long stride, long[] into, int from, int count) {
          for (int i = 0; i < count; i++) {
            into[from + i] = (start + i * stride + first) % 2;
          }
        }
      };
    }

    @Override
    public PlanParameters parameters() {
      return new PlanParameters("test.Mislabelled", Map.of());
    }
  }
}
