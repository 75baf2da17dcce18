// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.sampler.balance.BaguaLoadBalancingBatchSampler;
import io.torchfeed.sampler.balance.BaguaLoadBalancingSampler;
import io.torchfeed.sampler.balance.Costs;
import io.torchfeed.sampler.balance.LoadBalancingDistributedSampler;
import io.torchfeed.sampler.balance.TokenBudgetBatchSampler;
import io.torchfeed.sampler.order.BlockedSampler;
import io.torchfeed.sampler.order.DistributedBatchSampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.order.ShardShuffleSampler;
import io.torchfeed.sampler.order.ShardedSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.sampler.python.PythonDistributedSampler;
import io.torchfeed.testing.SamplerFamilies;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The contract of every plan that is one rank's part of a shared order. */
class PlanContractTest {
  private static final int SAMPLES = 48;
  private static final Costs COSTS = Costs.computed(SAMPLES, index -> 1 + index % 7);

  /** The methods of a plan that depend on how it divides itself. */
  private static final Set<String> OF_A_DIVISION =
      Set.of("part", "order", "parameters", "tail", "epoch", "resume", "probe");

  private record Family(String name, Function<Part, Plan<?>> plans) {
    @Override
    public String toString() {
      return name;
    }
  }

  static Stream<Family> families() {
    ShuffledSampler order = ShuffledSampler.of(SAMPLES, 5);
    ShardShuffleSampler shards = ShardShuffleSampler.of(new long[] {20, 16, 12}, 2, 5);
    return Stream.concat(
        SamplerFamilies.DIVIDED.stream()
            .map(family -> new Family(family.name(), part -> family.plan(48, part, Tail.PAD, 5))),
        Stream.of(
            new Family("blocked", part -> BlockedSampler.of(order, 4, part)),
            new Family("sharded", part -> ShardedSampler.strided(shards, part)),
            new Family("Bagua", part -> BaguaLoadBalancingSampler.of(COSTS, part)),
            new Family(
                "Bagua's batches",
                part ->
                    BaguaLoadBalancingBatchSampler.bySumOfCosts(
                        BaguaLoadBalancingSampler.of(COSTS, part), COSTS, 40)),
            new Family(
                "load balancing",
                part -> LoadBalancingDistributedSampler.builder(COSTS, part, 2).build()),
            new Family("token budget", part -> TokenBudgetBatchSampler.of(COSTS, 60, part)),
            new Family(
                "whole batches", part -> DistributedBatchSampler.ofWholeBatches(order, 3, part)),
            new Family(
                "global batches", part -> DistributedBatchSampler.ofGlobalBatches(order, 12, part)),
            new Family(
                "fixed batches",
                part -> FixedSizeBatchSampler.of(ShuffledSampler.of(SAMPLES, part, 5), 3))));
  }

  @ParameterizedTest
  @MethodSource("families")
  void aPlanWithAPartFollowsTheDivisionOrForwardsAllOfIt(Family family) {
    Plan<?> plan = family.plans.apply(new Part(3, 1));
    Set<String> own =
        Arrays.stream(plan.getClass().getDeclaredMethods())
            .filter(method -> !method.isBridge())
            .map(Method::getName)
            .collect(Collectors.toSet());
    if (!(plan instanceof DividedPlan)) {
      assertThat(own).as("methods of a plan around a divided plan").containsAll(OF_A_DIVISION);
    } else if (plan instanceof PythonDistributedSampler) {
      assertThat(own).doesNotContain("epoch"); // its resume explains PyTorch's negative epochs
    } else {
      assertThat(own).doesNotContain("epoch", "resume");
    }
  }

  @ParameterizedTest
  @MethodSource("families")
  void allRanksShareTheOrderAndEachHasItsOwnParameters(Family family) {
    PlanParameters order = family.plans.apply(new Part(2, 0)).order();
    for (Part part : List.of(new Part(2, 1), new Part(3, 0), new Part(3, 2))) {
      Plan<?> plan = family.plans.apply(part);
      assertThat(plan.part()).isEqualTo(part);
      assertThat(plan.order()).isEqualTo(order).isNotEqualTo(plan.parameters());
      assertThat(plan.order().values()).doesNotContainKeys("rank", "worldSize");
      assertThat(plan.parameters().values())
          .containsEntry("rank", "" + part.rank())
          .containsEntry("worldSize", "" + part.worldSize());
    }
  }

  @ParameterizedTest
  @MethodSource("families")
  void aPlanResumesFromOtherNumbersOfRanksAndFromItsOwn(Family family) {
    Plan<?> plan = family.plans.apply(new Part(2, 1));
    List<EpochSegment> ofThree = List.of(firstHalf(family.plans.apply(new Part(3, 0))));
    List<EpochSegment> ofTwo = List.of(firstHalf(plan));
    try (Seekable epoch = plan.epoch(3);
        Seekable begun = plan.resume(3, List.of());
        Seekable own = plan.resume(3, ofTwo);
        Seekable rest = plan.resume(3, ofThree)) {
      long whole = epoch.remaining();
      assertThat(begun.remaining()).isEqualTo(whole);
      assertThat(own.position()).isEqualTo(whole / 2);
      assertThat(own.remaining()).isEqualTo(whole - whole / 2);
      assertThat(rest.position()).isZero();
      assertThat(rest.remaining()).isPositive().isLessThan(whole);
    }
  }

  /** Returns the segment in which all ranks of a plan deliver the first half of their parts. */
  private static EpochSegment firstHalf(Plan<?> plan) {
    try (Seekable cursor = plan.epoch(3)) {
      return new EpochSegment(plan.part().worldSize(), cursor.delivered(cursor.remaining() / 2));
    }
  }
}
