// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.sampler.balance.BaguaLoadBalancingBatchSampler;
import io.torchfeed.sampler.balance.BaguaLoadBalancingSampler;
import io.torchfeed.sampler.balance.Costs;
import io.torchfeed.sampler.balance.LoadBalancingDistributedSampler;
import io.torchfeed.sampler.balance.TokenBudgetBatchSampler;
import io.torchfeed.sampler.order.DistributedBatchSampler;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.sampler.order.StridedSampler;
import io.torchfeed.sampler.torch.SequentialSampler;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests of batch plans that stop at any batch and resume on any number of ranks. */
class BatchPlansElasticTest {
  private static final long EPOCH = 2;
  private static final int SAMPLES = 41;
  private static final Costs COSTS = costs();

  private static Costs costs() {
    Random random = new Random(3);
    return Costs.computed(SAMPLES, index -> random.nextInt(30));
  }

  /** A factory for the plan of a rank. */
  private interface Plans {
    BatchSampler plan(Part part);
  }

  /** Plans that deliver each sample once per epoch, and the world sizes to test. */
  private record Family(String name, List<Integer> worldSizes, Plans plans) {
    @Override
    public String toString() {
      return name;
    }
  }

  static Stream<Family> families() {
    List<Integer> all = List.of(1, 2, 3, 4, 6, 7, 17);
    ShuffledSampler order = ShuffledSampler.of(SAMPLES, 5);
    return Stream.of(
        new Family(
            "fixed batches of shuffled",
            all,
            part -> FixedSizeBatchSampler.of(ShuffledSampler.of(SAMPLES, part, 5), 3)),
        new Family(
            "fixed batches of strided",
            all,
            part ->
                FixedSizeBatchSampler.of(StridedSampler.of(order, part).withTail(Tail.UNEVEN), 4)),
        new Family(
            "fixed batches of balanced",
            all,
            part ->
                FixedSizeBatchSampler.of(
                    LoadBalancingDistributedSampler.builder(COSTS, part, 2).build(), 2)),
        new Family(
            "whole batches", all, part -> DistributedBatchSampler.ofWholeBatches(order, 3, part)),
        new Family(
            "global batches",
            List.of(1, 2, 3, 4, 6, 12),
            part -> DistributedBatchSampler.ofGlobalBatches(order, 12, part)),
        new Family(
            "token budget", all, part -> TokenBudgetBatchSampler.of(COSTS, 60, part).withSeed(9)),
        new Family(
            "Bagua's batches",
            all,
            part ->
                BaguaLoadBalancingBatchSampler.bySumOfCosts(
                    BaguaLoadBalancingSampler.of(COSTS, part), COSTS, 40)));
  }

  @ParameterizedTest
  @MethodSource("families")
  void betweenAnyThreeNumbersOfRanksEverySampleIsDeliveredOnce(Family family) {
    for (int first : family.worldSizes) {
      for (long stop : LongStream.of(0, 1, 3, 100).toArray()) {
        Run stopped = Run.start(family).deliver(first, stop);
        for (int second : family.worldSizes) {
          Run again = stopped.deliver(second, 1);
          for (int third : List.of(family.worldSizes.get(1), first)) {
            assertThat(again.deliver(third, Long.MAX_VALUE).delivered)
                .as("%d ranks for %d batches, %d for one, %d", first, stop, second, third)
                .containsExactlyInAnyOrderElementsOf(LongStream.range(0, SAMPLES).boxed().toList());
          }
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("families")
  void theSameNumberOfRanksResumesAtTheSameBatch(Family family) {
    for (int worldSize : family.worldSizes) {
      for (int rank = 0; rank < worldSize; rank++) {
        BatchSampler plan = family.plans.plan(new Part(worldSize, rank));
        List<long[]> all = rest(plan.epoch(EPOCH));
        for (int position = 0; position <= all.size(); position++) {
          SamplerState state = SamplerState.of(plan, EPOCH, position);
          String saved = state.toJson();
          ResumableCursor.OfBatches cursor = SamplerState.fromJson(saved).resume(plan);
          assertThat(cursor.state()).isEqualTo(state);
          assertThat(cursor.epoch()).isEqualTo(EPOCH);
          assertThat(rest(cursor).toArray(long[][]::new))
              .isDeepEqualTo(all.subList(position, all.size()).toArray(long[][]::new));
        }
      }
    }
  }

  @ParameterizedTest
  @MethodSource("families")
  void ranksHaveEqualStatesAndOrders(Family family) {
    BatchSampler first = family.plans.plan(new Part(3, 0));
    BatchSampler last = family.plans.plan(new Part(3, 2));
    assertThat(last.order()).isEqualTo(first.order());
    assertThat(family.plans.plan(new Part(2, 1)).order()).isEqualTo(first.order());
    assertThat(last.part()).isEqualTo(new Part(3, 2));
    assertThat(SamplerState.of(last, EPOCH, 2)).isEqualTo(SamplerState.of(first, EPOCH, 2));
    assertThat(last.parameters()).isNotEqualTo(first.parameters());
  }

  @ParameterizedTest
  @MethodSource("families")
  void aFinishedEpochResumesAtTheNextOne(Family family) {
    BatchSampler plan = family.plans.plan(new Part(2, 1));
    try (ResumableCursor.OfBatches cursor = ResumableCursor.open(plan, EPOCH)) {
      while (cursor.next(new long[plan.maxBatchSize()], 0) > 0) {
        assertThat(cursor.state().finished()).isFalse();
      }
      assertThat(cursor.state().finished()).isTrue();
      try (ResumableCursor.OfBatches next =
          cursor.state().resume(family.plans.plan(new Part(3, 1)))) {
        assertThat(next.epoch()).isEqualTo(EPOCH + 1);
        assertThat(next.position()).isZero();
      }
      cursor.seek(1);
      assertThat(cursor.state()).isEqualTo(SamplerState.of(plan, EPOCH, 1));
    }
  }

  @ParameterizedTest
  @MethodSource("families")
  void moreThanTheEpochHasIsRefused(Family family) {
    BatchSampler plan = family.plans.plan(new Part(2, 1));
    SamplerState state = SamplerState.of(plan, EPOCH, 1);
    for (int ranks : new int[] {2, 3}) {
      SamplerState more =
          new SamplerState(
              state.plan(),
              EPOCH,
              List.of(new EpochSegment(ranks, 1000)),
              false,
              SamplerState.of(family.plans.plan(new Part(ranks, 0)), EPOCH, 1).orderDigest());
      assertThatIllegalArgumentException().isThrownBy(() -> more.resume(plan));
    }
  }

  @Test
  void theBatchSizeMayChangeOnResume() {
    FixedSizeBatchSampler threes = FixedSizeBatchSampler.of(SequentialSampler.of(20), 3);
    SamplerState state = SamplerState.of(threes, 0, 3);
    FixedSizeBatchSampler fours = FixedSizeBatchSampler.of(SequentialSampler.of(20), 4);
    try (ResumableCursor.OfBatches cursor = state.resume(fours)) {
      assertThat(cursor.position()).isZero();
      long[] batch = new long[4];
      assertThat(cursor.next(batch, 0)).isEqualTo(4);
      assertThat(batch).containsExactly(9, 10, 11, 12);
      assertThat(cursor.state()).isEqualTo(SamplerState.of(SequentialSampler.of(20), 0, 13));
      assertThat(cursor.remaining()).isEqualTo(2);
      assertThat(cursor.isPadding(0, 3)).isFalse();
    }
  }

  @Test
  void aStateOfTheOrderResumesItsFixedBatches() {
    Sampler order = ShuffledSampler.of(20, new Part(2, 0), 1);
    SamplerState state = SamplerState.of(order, 4, 6);
    try (ResumableCursor.OfBatches cursor = state.resume(FixedSizeBatchSampler.of(order, 3))) {
      assertThat(cursor.position()).isEqualTo(2);
      try (ResumableCursor.OfIndices indices = cursor.state().resume(order)) {
        assertThat(indices.position()).isEqualTo(6);
      }
    }
  }

  @Test
  void plansThatCannotDivideTheRemainderRefuseOtherWorldSizes() {
    BatchSampler plan =
        new BatchSampler() {
          @Override
          public long batches(long epoch) {
            return 5;
          }

          @Override
          public int maxBatchSize() {
            return 1;
          }

          @Override
          public BatchCursor epoch(long epoch) {
            return FixedSizeBatchSampler.of(SequentialSampler.of(5), 1).epoch(epoch);
          }

          @Override
          public PlanParameters parameters() {
            return PlanParameters.of("test.Five");
          }
        };
    SamplerState state = SamplerState.of(plan, 0, 2);
    try (BatchCursor cursor = state.resume(plan)) {
      assertThat(cursor.position()).isEqualTo(2);
    }
    SamplerState other =
        new SamplerState(
            state.plan(), 0, List.of(new EpochSegment(2, 1)), false, state.orderDigest());
    assertThatIllegalArgumentException()
        .isThrownBy(() -> other.resume(plan))
        .withMessageContaining("cannot be divided again");
  }

  @Test
  void aDifferentPlanIsReported() {
    BatchSampler plan = TokenBudgetBatchSampler.of(COSTS, 60, new Part(2, 0));
    SamplerState state = SamplerState.of(plan, 0, 1);
    assertThatExceptionOfType(ResumeMismatchException.class)
        .isThrownBy(() -> state.resume(TokenBudgetBatchSampler.of(COSTS, 61, new Part(2, 0))))
        .satisfies(e -> assertThat(e.parameter()).isEqualTo("budget"));
  }

  /** The progress of an epoch that several world sizes deliver, one after the other. */
  private record Run(Family family, List<Long> delivered, List<SamplerState> state) {
    static Run start(Family family) {
      return new Run(family, List.of(), List.of());
    }

    /** Lets each rank deliver {@code batches} more batches, or all it has left. */
    Run deliver(int worldSize, long batches) {
      List<Long> all = new ArrayList<>(delivered);
      List<SamplerState> after = new ArrayList<>();
      for (int rank = 0; rank < worldSize; rank++) {
        BatchSampler plan = family.plans.plan(new Part(worldSize, rank));
        try (ResumableCursor.OfBatches cursor =
            state.isEmpty()
                ? ResumableCursor.open(plan, EPOCH)
                : SamplerState.fromJson(state.get(0).toJson()).resume(plan)) {
          long[] batch = new long[plan.maxBatchSize()];
          for (long i = Math.min(batches, cursor.remaining()); i > 0; i--) {
            long position = cursor.position();
            int size = cursor.next(batch, 0);
            for (int element = 0; element < size; element++) {
              if (!cursor.isPadding(position, element)) {
                all.add(batch[element]);
              }
            }
          }
          after.add(cursor.state());
        }
      }
      if (!family.name.equals("fixed batches of strided")) { // its ranks have different lengths
        assertThat(after).allMatch(after.get(0)::equals);
      }
      return new Run(family, all, after);
    }
  }

  private static List<long[]> rest(BatchCursor cursor) {
    List<long[]> batches = new ArrayList<>();
    long[] batch = new long[100];
    try (cursor) {
      for (int size = cursor.next(batch, 0); size > 0; size = cursor.next(batch, 0)) {
        batches.add(Arrays.copyOf(batch, size));
      }
    }
    return batches;
  }
}
