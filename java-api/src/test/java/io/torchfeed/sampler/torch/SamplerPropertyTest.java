// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.testing.Cursors;
import java.util.Arrays;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

/** Properties of the libtorch plans for all parameters. */
class SamplerPropertyTest {
  @Property(tries = 300)
  void paddedRanksRepeatTheFirstSamples(
      @ForAll @LongRange(min = 1, max = 2_000) long datasetSize,
      @ForAll @IntRange(min = 1, max = 64) int worldSize,
      @ForAll @LongRange(min = 0, max = Long.MAX_VALUE) long epoch) {
    long[] seen = visits(datasetSize, worldSize, Tail.PAD, epoch);
    assertThat(seen.length % worldSize).isZero();
    Arrays.sort(seen);
    assertThat(seen)
        .isEqualTo(LongStream.range(0, seen.length).map(i -> i % datasetSize).sorted().toArray());
  }

  @Property(tries = 300)
  void droppingRanksDeliverTheirSamplesOnce(
      @ForAll @LongRange(min = 0, max = 2_000) long datasetSize,
      @ForAll @IntRange(min = 1, max = 64) int worldSize,
      @ForAll @LongRange(min = 0, max = Long.MAX_VALUE) long epoch) {
    long[] seen = visits(datasetSize, worldSize, Tail.DROP, epoch);
    Arrays.sort(seen);
    assertThat(seen)
        .isEqualTo(LongStream.range(0, datasetSize - datasetSize % worldSize).toArray());
  }

  @Property(tries = 300)
  void randomOrdersArePermutations(
      @ForAll @LongRange(min = 0, max = 5_000) long datasetSize,
      @ForAll long seed,
      @ForAll @LongRange(min = 0, max = Long.MAX_VALUE) long epoch) {
    long[] seen = Cursors.indices(RandomSampler.of(datasetSize, seed), epoch);
    Arrays.sort(seen);
    assertThat(seen).isEqualTo(LongStream.range(0, datasetSize).toArray());
  }

  @Property(tries = 300)
  void sequentialRanksAreContiguous(
      @ForAll @LongRange(min = 1, max = 2_000) long datasetSize,
      @ForAll @IntRange(min = 1, max = 64) int worldSize) {
    long[] seen =
        IntStream.range(0, worldSize)
            .mapToObj(
                rank -> DistributedSequentialSampler.of(datasetSize, new Part(worldSize, rank)))
            .flatMapToLong(sampler -> LongStream.of(Cursors.indices(sampler, 0)))
            .toArray();
    assertThat(seen)
        .isEqualTo(LongStream.range(0, seen.length).map(i -> i % datasetSize).toArray());
  }

  @Property(tries = 300)
  void everyBatchIsASliceOfTheOrder(
      @ForAll @LongRange(min = 0, max = 3_000) long datasetSize,
      @ForAll @IntRange(min = 1, max = 700) int batchSize,
      @ForAll long seed) {
    Sampler sampler = RandomSampler.of(datasetSize, seed);
    long[] all = Cursors.indices(sampler, 0);
    try (Cursor cursor = sampler.epoch(0)) {
      for (int start = 0; start < all.length; start += batchSize) {
        int end = Math.min(start + batchSize, all.length);
        assertThat(Cursors.next(cursor, batchSize)).isEqualTo(Arrays.copyOfRange(all, start, end));
      }
      assertThat(cursor.remaining()).isZero();
    }
  }

  @Property(tries = 200)
  void libtorchRanksDeliverEverySampleOnceApartFromPadding(
      @ForAll @LongRange(min = 1, max = 300) long datasetSize,
      @ForAll @IntRange(min = 1, max = 64) int worldSize,
      @ForAll @LongRange(min = 0, max = Long.MAX_VALUE) long epoch,
      @ForAll boolean random) {
    long[] seen =
        IntStream.range(0, worldSize)
            .mapToObj(
                rank ->
                    random
                        ? DistributedRandomSampler.of(datasetSize, new Part(worldSize, rank))
                        : DistributedSequentialSampler.of(datasetSize, new Part(worldSize, rank)))
            .flatMapToLong(sampler -> LongStream.of(Cursors.withoutPadding(sampler, epoch)))
            .sorted()
            .toArray();
    assertThat(seen).isEqualTo(LongStream.range(0, datasetSize).toArray());
  }

  private static long[] visits(long datasetSize, int worldSize, Tail tail, long epoch) {
    return IntStream.range(0, worldSize)
        .mapToObj(
            rank ->
                DistributedRandomSampler.of(datasetSize, new Part(worldSize, rank)).withTail(tail))
        .flatMapToLong(sampler -> LongStream.of(Cursors.indices(sampler, epoch)))
        .toArray();
  }
}
