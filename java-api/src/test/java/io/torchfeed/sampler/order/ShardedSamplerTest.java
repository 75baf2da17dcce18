// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.testing.Cursors;
import io.torchfeed.testing.DivisionChecks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of sharded datasets: their shuffled order, and whole shards assigned to ranks. */
class ShardedSamplerTest {
  static long[] sizes(int shards, long seed) {
    return new Random(seed).longs(shards, 0, 20).toArray();
  }

  static int shardOf(long[] sizes, long index) {
    int shard = 0;
    for (long left = index; left >= sizes[shard]; shard++) {
      left -= sizes[shard];
    }
    return shard;
  }

  /** Returns one of the three ways to assign shards to ranks, by number. */
  static DivisionChecks.Division divided(ShardShuffleSampler shards, int way, Tail tail) {
    return part ->
        switch (way) {
          case 0 -> ShardedSampler.contiguous(shards, part).withTail(tail);
          case 1 -> ShardedSampler.strided(shards, part).withTail(tail);
          default -> ShardedSampler.blocked(shards, 3, part).withTail(tail);
        };
  }

  @Nested
  class Order {
    @Test
    void shardsAndSamplesAreReorderedInEachEpoch() {
      long[] sizes = new long[30];
      Arrays.fill(sizes, 10);
      Sampler plan = ShardShuffleSampler.of(sizes, 1, 5);
      List<long[]> shardOrders = new ArrayList<>();
      for (long epoch = 0; epoch < 2; epoch++) {
        long[] indices = Cursors.indices(plan, epoch);
        shardOrders.add(IntStream.range(0, 30).mapToLong(i -> indices[10 * i] / 10).toArray());
        assertThat(LongStream.of(Arrays.copyOf(indices, 10)).map(i -> i % 10).toArray())
            .isNotEqualTo(LongStream.range(0, 10).toArray());
      }
      assertThat(shardOrders.get(0)).isNotEqualTo(shardOrders.get(1));
    }

    @Test
    void withoutShufflingSamplesComeInStorageOrder() {
      assertThat(Cursors.indices(ShardShuffleSampler.inOrder(3, 0, 4), 2))
          .isEqualTo(LongStream.range(0, 7).toArray());
    }

    @Test
    void anyPositionInHugeShardsIsReachedDirectly() {
      Sampler plan = ShardShuffleSampler.of(new long[] {1L << 61, 1L << 61}, 2, 5);
      try (Cursor cursor = plan.epoch(0)) {
        cursor.seek((1L << 62) - 3);
        long[] last = Cursors.next(cursor, 9);
        assertThat(last).hasSize(3);
        assertThat(LongStream.of(last)).allMatch(i -> i >= 0 && i < 1L << 62);
      }
    }

    @Test
    void invalidArgumentsAreRefused() {
      for (int window : new int[] {0, -1}) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> ShardShuffleSampler.of(new long[] {1}, window, 0))
            .withMessage("windowShards must be at least 1, got " + window);
      }
      for (long size : new long[] {-1, 1L << 62, Long.MAX_VALUE}) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> ShardShuffleSampler.of(new long[] {1, size}, 1, 0))
            .withMessageEndingWith("got " + size + " at index 1");
      }
      assertThat(Cursors.indices(ShardShuffleSampler.of(new long[] {0, 0}, 9, 0), 0)).isEmpty();
      assertThat(Cursors.indices(ShardShuffleSampler.of(new long[0], 9, 0), 0)).isEmpty();
      assertThat(
              Cursors.indices(ShardShuffleSampler.of(new long[] {2, 2}, Integer.MAX_VALUE, 0), 0))
          .containsExactlyInAnyOrder(0, 1, 2, 3);
      DivisionChecks.negativeEpochsAreRefused(ShardShuffleSampler.inOrder(3));
    }
  }

  @Nested
  class Ranks {
    private final ShardShuffleSampler six = ShardShuffleSampler.inOrder(1, 2, 3, 4, 5, 6);

    @Test
    void ranksHaveWholeShardsByEachRule() {
      assertThat(shardsOf(1, 0)).containsExactly(0, 2, 4);
      assertThat(shardsOf(1, 1)).containsExactly(1, 3, 5);
      assertThat(shardsOf(2, 0)).containsExactly(0, 1, 2);
      assertThat(shardsOf(2, 1)).containsExactly(3, 4, 5);
      // Two equal halves of the 21 samples would meet at 10.5; the fifth shard's midpoint is 12.5.
      assertThat(shardsOf(0, 0)).containsExactly(0, 1, 2, 3);
      assertThat(shardsOf(0, 1)).containsExactly(4, 5);
    }

    private int[] shardsOf(int way, int rank) {
      long[] sizes = {1, 2, 3, 4, 5, 6};
      return LongStream.of(Cursors.indices(divided(six, way, Tail.UNEVEN).of(new Part(2, rank)), 0))
          .mapToInt(i -> shardOf(sizes, i))
          .distinct()
          .toArray();
    }

    @Test
    void shorterRanksRepeatTheirSamplesOrLimitTheOthers() {
      assertThat(Cursors.indices(divided(six, 1, Tail.PAD).of(new Part(2, 0)), 0))
          .containsExactly(0, 3, 4, 5, 10, 11, 12, 13, 14, 0, 3, 4);
      assertThat(Cursors.indices(divided(six, 1, Tail.DROP).of(new Part(2, 1)), 0))
          .containsExactly(1, 2, 6, 7, 8, 9, 15, 16, 17);
      assertThat(Cursors.withoutPadding(divided(six, 1, Tail.PAD).of(new Part(2, 0)), 0))
          .hasSize(9);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    void anyTwoWorldSizesDeliverEverySampleOnce(int way) {
      ShardShuffleSampler order = ShardShuffleSampler.of(sizes(12, 1), 2, 1);
      long[] samples = LongStream.range(0, order.size()).toArray();
      DivisionChecks.anyTwoWorldSizesDeliver(divided(order, way, Tail.PAD), 3, samples);
    }

    @Test
    void ranksWithoutShardsRepeatTheFirstRank() {
      DivisionChecks.Division two = divided(ShardShuffleSampler.inOrder(2, 3), 1, Tail.PAD);
      assertThat(Cursors.indices(two.of(new Part(4, 3)), 0)).containsExactly(0, 1, 2);
      assertThat(Cursors.withoutPadding(two.of(new Part(4, 3)), 0)).isEmpty();
    }
  }

  @Nested
  class BadInput {
    private final ShardShuffleSampler two = ShardShuffleSampler.inOrder(2, 3);

    @ParameterizedTest
    @ValueSource(ints = {0, -1})
    void blockSizesBelowOneAreRefused(int block) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ShardedSampler.blocked(two, block, Part.whole()))
          .withMessage("shardsPerBlock must be at least 1, got " + block);
    }

    @Test
    void tooManyRanksAreRefused() {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> ShardedSampler.strided(two, new Part(65_537, 0)))
          .withMessage("worldSize must be in [1, 65536], got 65537");
      DivisionChecks.negativeEpochsAreRefused(ShardedSampler.strided(two, new Part(2, 0)));
    }

    @Test
    void segmentsLongerThanTheLongestRankAreRefused() {
      ShardedSampler plan = ShardedSampler.strided(two, new Part(2, 0)).withTail(Tail.UNEVEN);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan.resume(0, List.of(new EpochSegment(2, 4))))
          .withMessageContaining("can have delivered at most 3");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> plan.resume(0, List.of(new EpochSegment(65_537, 1))))
          .withMessageContaining("worldSize");
    }

    @Test
    void everyParameterDistinguishesPlans() {
      ShardedSampler plan = ShardedSampler.strided(two, new Part(2, 0));
      assertThat(
              Stream.of(
                      plan,
                      ShardedSampler.contiguous(two, new Part(2, 0)),
                      ShardedSampler.blocked(two, 2, new Part(2, 0)),
                      ShardedSampler.strided(two, new Part(3, 0)),
                      ShardedSampler.strided(two, new Part(2, 1)),
                      plan.withTail(Tail.DROP),
                      ShardedSampler.strided(ShardShuffleSampler.inOrder(3, 2), new Part(2, 0)),
                      ShardedSampler.strided(
                          ShardShuffleSampler.of(new long[] {2, 3}, 1, 0), new Part(2, 0)),
                      ShardedSampler.strided(
                          ShardShuffleSampler.of(new long[] {2, 3}, 2, 0), new Part(2, 0)),
                      ShardedSampler.strided(
                          ShardShuffleSampler.of(new long[] {2, 3}, 1, 1), new Part(2, 0)))
                  .map(Sampler::digest)
                  .distinct())
          .hasSize(10);
      assertThat(plan.order()).isEqualTo(ShardedSampler.strided(two, new Part(5, 4)).order());
    }
  }
}
