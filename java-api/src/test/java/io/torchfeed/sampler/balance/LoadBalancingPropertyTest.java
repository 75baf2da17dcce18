// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.internal.Hash64;
import io.torchfeed.internal.WindowOrder;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Tail;
import io.torchfeed.testing.Cursors;
import io.torchfeed.testing.Elastic;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

/** Properties of balanced plans for all parameters. */
class LoadBalancingPropertyTest {
  @Property(tries = 300)
  void everySampleIsDeliveredOnceAndRanksHaveEqualCounts(
      @ForAll @IntRange(min = 0, max = 600) int size,
      @ForAll @IntRange(min = 1, max = 17) int worldSize,
      @ForAll @IntRange(min = 1, max = 7) int batchSize,
      @ForAll @IntRange(min = 1, max = 9) int window,
      @ForAll StepGrouping grouping,
      @ForAll @LongRange(min = 0, max = Long.MAX_VALUE) long epoch) {
    LoadBalancingDistributedSampler plan =
        plan(costs(size, epoch), worldSize, batchSize, window, grouping, Tail.PAD);
    assertThat(plan.size() % batchSize).isZero();
    assertThat(plan.size() * worldSize - size).isBetween(0L, (long) worldSize * batchSize - 1);
    long[] seen =
        IntStream.range(0, worldSize)
            .mapToObj(plan::forRank)
            .peek(rank -> assertThat(Cursors.indices(rank, epoch)).hasSize((int) plan.size()))
            .flatMapToLong(rank -> Arrays.stream(Cursors.withoutPadding(rank, epoch)))
            .sorted()
            .toArray();
    assertThat(seen).isEqualTo(LongStream.range(0, size).toArray());
  }

  @Property(tries = 200)
  void droppingOmitsLessThanAStep(
      @ForAll @IntRange(min = 0, max = 600) int size,
      @ForAll @IntRange(min = 1, max = 17) int worldSize,
      @ForAll @IntRange(min = 1, max = 7) int batchSize,
      @ForAll StepGrouping grouping,
      @ForAll @LongRange(min = 0, max = 1000) long epoch) {
    LoadBalancingDistributedSampler plan =
        plan(costs(size, epoch), worldSize, batchSize, 5, grouping, Tail.DROP);
    long[] seen =
        IntStream.range(0, worldSize)
            .mapToObj(plan::forRank)
            .flatMapToLong(rank -> Arrays.stream(Cursors.withoutPadding(rank, epoch)))
            .toArray();
    assertThat(seen).doesNotHaveDuplicates().hasSize(size - size % (worldSize * batchSize));
  }

  @Property(tries = 60)
  void seekingEqualsSkipping(
      @ForAll @IntRange(min = 1, max = 150) int size,
      @ForAll @IntRange(min = 1, max = 5) int worldSize,
      @ForAll @IntRange(min = 1, max = 4) int window,
      @ForAll StepGrouping grouping) {
    Elastic.assertSeekEqualsSkip(plan(costs(size, 1), worldSize, 3, window, grouping, Tail.PAD), 2);
  }

  @Property(tries = 400)
  void everySampleIsDeliveredOnceAfterAChangeOfTheWorldSizeAtAnyPosition(
      @ForAll @IntRange(min = 0, max = 400) int size,
      @ForAll @IntRange(min = 1, max = 17) int before,
      @ForAll @IntRange(min = 1, max = 17) int after,
      @ForAll @IntRange(min = 1, max = 3) int batchSize,
      @ForAll @IntRange(min = 1, max = 9) int window,
      @ForAll @IntRange(min = 0, max = 400) int delivered,
      @ForAll StepGrouping grouping) {
    Costs costs = costs(size, delivered);
    Elastic.assertEverySampleOnce(
        plan(costs, before, batchSize, window, grouping, Tail.PAD)::forRank,
        plan(costs, after, batchSize, window, grouping, Tail.PAD)::forRank,
        size,
        delivered);
  }

  @Property(tries = 150)
  void threeWorldSizesInOneEpochDeliverEverySampleOnce(
      @ForAll @IntRange(min = 100, max = 400) int size,
      @ForAll @IntRange(min = 1, max = 6) int first,
      @ForAll @IntRange(min = 1, max = 6) int second,
      @ForAll @IntRange(min = 1, max = 6) int third,
      @ForAll @IntRange(min = 0, max = 8) int delivered,
      @ForAll @IntRange(min = 1, max = 4) int window) {
    Costs costs = costs(size, 3);
    List<EpochSegment> segments =
        List.of(new EpochSegment(first, delivered), new EpochSegment(second, 5));
    LongStream seen = LongStream.empty();
    for (int part = 0; part < 3; part++) {
      int worldSize = List.of(first, second, third).get(part);
      int count = List.of(delivered, 5, Integer.MAX_VALUE).get(part);
      LoadBalancingDistributedSampler plan =
          plan(costs, worldSize, 2, window, StepGrouping.BUCKETED, Tail.PAD);
      for (int rank = 0; rank < worldSize; rank++) {
        try (Cursor cursor = plan.forRank(rank).resume(0, segments.subList(0, part))) {
          long start = cursor.position();
          long[] indices = Cursors.next(cursor, (int) Math.min(count, cursor.remaining()));
          long[] own =
              IntStream.range(0, indices.length)
                  .filter(i -> !cursor.isPadding(start + i))
                  .mapToLong(i -> indices[i])
                  .toArray();
          seen = LongStream.concat(seen, Arrays.stream(own));
        }
      }
    }
    assertThat(seen.sorted().toArray()).isEqualTo(LongStream.range(0, size).toArray());
  }

  @Property(tries = 200)
  void windowsAreSortedByKeyThenPosition(
      @ForAll @IntRange(min = 0, max = 300) int count,
      @ForAll @IntRange(min = 0, max = 62) int bits,
      @ForAll @IntRange(min = 0, max = 62) int low,
      @ForAll long seed) {
    long limit = (1L << bits) - 1;
    long[] keys =
        IntStream.range(0, count)
            .mapToLong(i -> (Hash64.mix(seed + i) % 3 << low | Hash64.mix(i) % 2) & limit)
            .toArray();
    int[] expected =
        IntStream.range(0, count)
            .boxed()
            .sorted(Comparator.comparingLong(i -> keys[i]))
            .mapToInt(i -> i)
            .toArray();
    assertThat(WindowOrder.sorted(count, limit, i -> keys[i])).isEqualTo(expected);
  }

  private static LoadBalancingDistributedSampler plan(
      Costs costs, int worldSize, int batchSize, int window, StepGrouping grouping, Tail tail) {
    return LoadBalancingDistributedSampler.builder(costs, new Part(worldSize, 0), batchSize)
        .grouping(grouping)
        .window(window)
        .jitter(0.05)
        .seed(11)
        .tail(tail)
        .build();
  }

  private static Costs costs(int size, long seed) {
    return Costs.computed(size, i -> 10 * (Hash64.mix(seed + i) >>> 60));
  }
}
