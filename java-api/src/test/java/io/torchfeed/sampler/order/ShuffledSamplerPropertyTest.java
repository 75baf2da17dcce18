// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.testing.Cursors;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

/** Properties of the default plan for all parameters, in the table and in the network. */
class ShuffledSamplerPropertyTest {
  @Property(tries = 300)
  void withoutPaddingEverySampleIsDeliveredOnce(
      @ForAll @LongRange(min = 0, max = 9_000) long datasetSize,
      @ForAll @IntRange(min = 1, max = 64) int worldSize,
      @ForAll long seed,
      @ForAll @LongRange(min = 0, max = Long.MAX_VALUE) long epoch) {
    for (Tail tail : List.of(Tail.PAD, Tail.UNEVEN)) {
      long[] seen =
          ranks(datasetSize, worldSize, seed, tail)
              .map(sampler -> Cursors.withoutPadding(sampler, epoch))
              .flatMapToLong(LongStream::of)
              .sorted()
              .toArray();
      assertThat(seen).isEqualTo(LongStream.range(0, datasetSize).toArray());
    }
  }

  @Property(tries = 300)
  void ranksHaveEqualSizesAndAreDisjointApartFromPadding(
      @ForAll @LongRange(min = 0, max = 9_000) long datasetSize,
      @ForAll @IntRange(min = 1, max = 64) int worldSize,
      @ForAll long seed) {
    long[] order = Cursors.indices(ShuffledSampler.of(datasetSize, seed), 1);
    long dropped = datasetSize - datasetSize % worldSize;
    long padded = dropped == datasetSize ? dropped : dropped + worldSize;
    assertThat(divided(datasetSize, worldSize, seed, Tail.DROP))
        .isEqualTo(Arrays.copyOf(order, (int) dropped));
    assertThat(divided(datasetSize, worldSize, seed, Tail.PAD))
        .isEqualTo(LongStream.range(0, padded).map(p -> order[(int) (p % datasetSize)]).toArray());
  }

  @Property(tries = 300)
  void seekingEqualsSkipping(
      @ForAll @LongRange(min = 0, max = 9_000) long datasetSize,
      @ForAll @IntRange(min = 1, max = 64) int worldSize,
      @ForAll long seed,
      @ForAll @LongRange(min = 0, max = 9_000) long anyPosition) {
    Sampler sampler = ShuffledSampler.of(datasetSize, new Part(worldSize, worldSize - 1), seed);
    int position = (int) (anyPosition % (sampler.size() + 1));
    long[] all = Cursors.indices(sampler, 0);
    try (Cursor cursor = sampler.epoch(0)) {
      cursor.seek(position);
      assertThat(Cursors.rest(cursor)).isEqualTo(Arrays.copyOfRange(all, position, all.length));
    }
  }

  @Property(tries = 60)
  void resumingAtAnyPositionContinuesTheEpoch(
      @ForAll @LongRange(min = 0, max = 100) long datasetSize,
      @ForAll @IntRange(min = 1, max = 17) int worldSize,
      @ForAll long seed) {
    ShuffledSampler sampler =
        ShuffledSampler.of(datasetSize, new Part(worldSize, 0), seed).withTail(Tail.DROP);
    long[] all = Cursors.indices(sampler, 5);
    for (int position = 0; position <= all.length; position++) {
      try (Cursor rest = sampler.resume(5, List.of(new EpochSegment(worldSize, position)))) {
        assertThat(Cursors.rest(rest)).isEqualTo(Arrays.copyOfRange(all, position, all.length));
      }
    }
  }

  @Property(tries = 500)
  void afterAChangeOfTheWorldSizeEverySampleIsStillDeliveredOnce(
      @ForAll @LongRange(min = 1, max = 5_000) long datasetSize,
      @ForAll @IntRange(min = 1, max = 17) int before,
      @ForAll @IntRange(min = 1, max = 17) int after,
      @ForAll @LongRange(min = 0, max = 5_000) long anyPosition,
      @ForAll long seed) {
    long position =
        anyPosition % (ShuffledSampler.of(datasetSize, new Part(before, 0), seed).size() + 1);
    List<EpochSegment> delivered = List.of(new EpochSegment(before, position));
    LongStream.Builder seen = LongStream.builder();
    for (int rank = 0; rank < before; rank++) {
      try (Cursor cursor = ShuffledSampler.of(datasetSize, new Part(before, rank), seed).epoch(2)) {
        add(seen, cursor, position);
      }
    }
    for (int rank = 0; rank < after; rank++) {
      ShuffledSampler sampler = ShuffledSampler.of(datasetSize, new Part(after, rank), seed);
      try (Cursor cursor = sampler.resume(2, delivered)) {
        add(seen, cursor, cursor.remaining());
      }
    }
    assertThat(seen.build().sorted().toArray())
        .isEqualTo(LongStream.range(0, datasetSize).toArray());
  }

  /** Adds the next indices of a cursor, without padding. */
  private static void add(LongStream.Builder seen, Cursor cursor, long count) {
    long start = cursor.position();
    long[] indices = Cursors.next(cursor, (int) count);
    for (int position = 0; position < count; position++) {
      if (!cursor.isPadding(start + position)) {
        seen.add(indices[position]);
      }
    }
  }

  private static Stream<ShuffledSampler> ranks(
      long datasetSize, int worldSize, long seed, Tail tail) {
    return IntStream.range(0, worldSize)
        .mapToObj(
            rank ->
                ShuffledSampler.of(datasetSize, new Part(worldSize, rank), seed).withTail(tail));
  }

  /** Returns the indices of all ranks, step by step; the ranks have equal sizes. */
  private static long[] divided(long datasetSize, int worldSize, long seed, Tail tail) {
    List<long[]> parts =
        ranks(datasetSize, worldSize, seed, tail)
            .map(sampler -> Cursors.indices(sampler, 1))
            .toList();
    int size = parts.get(0).length;
    assertThat(parts).allSatisfy(part -> assertThat(part).hasSize(size));
    return IntStream.range(0, size * worldSize)
        .mapToLong(p -> parts.get(p % worldSize)[p / worldSize])
        .toArray();
  }
}
