// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;

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
import java.util.stream.LongStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** Properties for shards of any sizes. */
class ShardedSamplerPropertyTest {
  @Property(tries = 100)
  void everySampleIsDeliveredOnceAndAWindowOpensFewShards(
      @ForAll @IntRange(min = 0, max = 40) int shards,
      @ForAll @IntRange(min = 1, max = 50) int window,
      @ForAll long seed) {
    long[] sizes = ShardedSamplerTest.sizes(shards, seed);
    long[] indices = Cursors.indices(ShardShuffleSampler.of(sizes, window, seed), 3);
    assertThat(LongStream.of(indices).sorted().toArray())
        .isEqualTo(LongStream.range(0, LongStream.of(sizes).sum()).toArray());
    // Windows end where the shards seen so far are complete; no window may have more shards.
    int[] left = LongStream.of(sizes).mapToInt(size -> (int) size).toArray();
    List<Integer> open = new ArrayList<>();
    for (long index : indices) {
      int shard = ShardedSamplerTest.shardOf(sizes, index);
      if (!open.contains(shard)) {
        open.add(shard);
      }
      left[shard]--;
      assertThat(open).hasSizeLessThanOrEqualTo(window);
      if (open.stream().allMatch(s -> left[s] == 0)) {
        open.clear();
      }
    }
  }

  @Property(tries = 50)
  void anyNumberOfRanksReadsTheSameOrderFromAnyPosition(
      @ForAll @IntRange(min = 0, max = 30) int shards,
      @ForAll @IntRange(min = 1, max = 40) int window,
      @ForAll @IntRange(min = 1, max = 17) int worldSize,
      @ForAll long seed) {
    Sampler plan = ShardShuffleSampler.of(ShardedSamplerTest.sizes(shards, seed), window, seed);
    DivisionChecks.ranksTakeTurns(plan, 3, worldSize);
    DivisionChecks.seekEqualsSkipAtEveryPosition(plan, 3);
  }

  @Property(tries = 100)
  void ranksKeepTheirShardsInEveryEpochAndHaveEqualCounts(
      @ForAll @IntRange(min = 0, max = 30) int shards,
      @ForAll @IntRange(min = 1, max = 17) int worldSize,
      @ForAll @IntRange(min = 0, max = 2) int way,
      @ForAll long seed) {
    ShardShuffleSampler order =
        ShardShuffleSampler.of(ShardedSamplerTest.sizes(shards, seed), 2, seed);
    DivisionChecks.Division padded = ShardedSamplerTest.divided(order, way, Tail.PAD);
    for (int rank = 0; rank < worldSize; rank++) {
      assertThat(padded.of(new Part(worldSize, rank)).size())
          .isEqualTo(padded.of(new Part(worldSize, 0)).size());
      long[] first = withoutPaddingSorted(padded.of(new Part(worldSize, rank)), 0);
      assertThat(withoutPaddingSorted(padded.of(new Part(worldSize, rank)), 1)).isEqualTo(first);
      assertThat(
              DivisionChecks.sorted(
                  ShardedSamplerTest.divided(order, way, Tail.UNEVEN).of(new Part(worldSize, rank)),
                  0))
          .isEqualTo(first);
    }
  }

  @Property(tries = 200)
  void ranksDeliverEverySampleOnceThroughChangesOfTheirNumber(
      @ForAll @IntRange(min = 0, max = 25) int shards,
      @ForAll @IntRange(min = 0, max = 2) int way,
      @ForAll long seed,
      @ForAll Tail tail) {
    long[] sizes = ShardedSamplerTest.sizes(shards, seed);
    Random random = new Random(seed);
    ShardShuffleSampler order = ShardShuffleSampler.of(sizes, 1 + random.nextInt(4), seed);
    DivisionChecks.Division division = ShardedSamplerTest.divided(order, way, tail);
    List<EpochSegment> segments = new ArrayList<>();
    for (int i = random.nextInt(4); i > 0; i--) {
      int worldSize = 1 + random.nextInt(17);
      long longest = DivisionChecks.longest(division, 2, segments, worldSize);
      segments.add(new EpochSegment(worldSize, random.nextInt((int) longest + 1)));
    }
    long[] seen = DivisionChecks.delivered(division, 2, segments, 1 + random.nextInt(17));
    if (tail == Tail.DROP) {
      assertThat(seen).doesNotHaveDuplicates();
    } else {
      assertThat(seen).isEqualTo(LongStream.range(0, order.size()).toArray());
    }
  }

  @Property(tries = 100)
  void ranksContinueAsIfTheyHadNotStopped(
      @ForAll @IntRange(min = 0, max = 15) int shards,
      @ForAll @IntRange(min = 1, max = 17) int worldSize,
      @ForAll @IntRange(min = 0, max = 2) int way,
      @ForAll long seed,
      @ForAll Tail tail) {
    DivisionChecks.Division division =
        ShardedSamplerTest.divided(
            ShardShuffleSampler.of(ShardedSamplerTest.sizes(shards, seed), 3, seed), way, tail);
    long longest = DivisionChecks.longest(division, 1, List.of(), worldSize);
    for (int rank = 0; rank < worldSize; rank++) {
      Sampler plan = division.of(new Part(worldSize, rank));
      long[] whole = Cursors.indices(plan, 1);
      for (long done = 0; done <= longest; done += 7) {
        try (Cursor cursor = plan.resume(1, List.of(new EpochSegment(worldSize, done)))) {
          int from = (int) Math.min(done, whole.length);
          assertThat(Cursors.rest(cursor)).isEqualTo(Arrays.copyOfRange(whole, from, whole.length));
        }
      }
    }
  }

  @Property(tries = 30)
  void partsAreReadFromAnyPosition(
      @ForAll @IntRange(min = 0, max = 20) int shards,
      @ForAll @IntRange(min = 0, max = 2) int way,
      @ForAll long seed) {
    ShardShuffleSampler order =
        ShardShuffleSampler.of(ShardedSamplerTest.sizes(shards, seed), 3, seed);
    DivisionChecks.seekEqualsSkipAtEveryPosition(
        ShardedSamplerTest.divided(order, way, Tail.PAD).of(new Part(3, 1)), 4);
  }

  private static long[] withoutPaddingSorted(Sampler plan, long epoch) {
    return LongStream.of(Cursors.withoutPadding(plan, epoch)).sorted().toArray();
  }
}
