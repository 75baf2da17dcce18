// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.internal.Mt19937;
import io.torchfeed.internal.Randperm;
import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.cursor.Stride;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.order.StridedSampler;
import io.torchfeed.sampler.split.RandomSplit;
import io.torchfeed.testing.Cursors;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.constraints.Size;

/** Python's samplers against naive models, and properties for all parameters. */
class PythonSamplerPropertyTest {
  @Property(tries = 300)
  void aPartialPermutationIsThePrefixOfTheShuffledList(
      @ForAll @IntRange(max = 5_000) int n,
      @ForAll @IntRange(max = 5_000) int count,
      @ForAll @IntRange(max = 3) int from,
      @ForAll long seed) {
    int[] into = new int[from + Math.min(count, n)];
    Randperm.write(new Mt19937(seed), n, into, from, into.length - from);
    assertThat(Arrays.copyOfRange(into, from, into.length))
        .isEqualTo(Arrays.copyOf(shuffled(n, new Mt19937(seed)), into.length - from));
  }

  @Property(tries = 20)
  void aSmallPartialPermutationIsThePrefixOfTheShuffledList(
      @ForAll @IntRange(min = 500_000, max = 1_000_000) int n, @ForAll long seed) {
    int[] into = new int[n / 64];
    Randperm.write(new Mt19937(seed), n, into, 0, into.length);
    assertThat(into).isEqualTo(Arrays.copyOf(shuffled(n, new Mt19937(seed)), into.length));
  }

  @Property(tries = 300)
  void aPartialLongPermutationIsThePrefixOfTheInsideOutShuffle(
      @ForAll @IntRange(max = 3_000) int n,
      @ForAll @IntRange(max = 3_000) int count,
      @ForAll long seed) {
    int[] into = new int[Math.min(count, n)];
    Randperm.writeInsideOut(new Mt19937(seed), n, into, 0, into.length);
    assertThat(into).isEqualTo(Arrays.copyOf(insideOut(n, new Mt19937(seed)), into.length));
  }

  @Property(tries = 300)
  void drawsWithoutReplacementAreTheLargestQuotients(
      @ForAll @Size(min = 1, max = 200) List<@IntRange(max = 5) Integer> weights,
      @ForAll @IntRange(min = -1074, max = 1000) int exponent,
      @ForAll long seed) {
    double[] scaled = weights.stream().mapToDouble(w -> w * Math.scalb(1.0, exponent)).toArray();
    int[] all = new int[scaled.length];
    Multinomial.withoutReplacement(scaled, all, new Mt19937(seed));
    assertThat(all).isEqualTo(byQuotient(scaled, new Mt19937(seed)));
  }

  @Property(tries = 300)
  void everyOrderCanBeDividedAmongRanks(
      @ForAll @IntRange(min = 1, max = 300) int datasetSize,
      @ForAll @IntRange(min = 1, max = 17) int worldSize,
      @ForAll @LongRange(min = 0, max = 4) long epoch,
      @ForAll long seed) {
    double[] weights = IntStream.range(0, datasetSize).mapToDouble(i -> 1 + i % 7).toArray();
    long[] indices = LongStream.range(0, datasetSize).map(i -> i * i * i).toArray();
    for (Sampler order :
        List.of(
            PythonRandomSampler.of(datasetSize, seed),
            PythonRandomSampler.of(datasetSize, seed)
                .withReplacement(true)
                .withNumSamples(2L * datasetSize),
            SubsetRandomSampler.of(indices, seed),
            WeightedRandomSampler.of(weights, 100, seed),
            WeightedRandomSampler.of(weights, datasetSize, seed).withReplacement(false),
            PythonDistributedSampler.of(datasetSize, Part.whole()).withSeed(seed))) {
      long[] whole = Cursors.indices(order, epoch);
      for (int rank = 0; rank < worldSize; rank++) {
        long[] part = Cursors.indices(StridedSampler.of(order, new Part(worldSize, rank)), epoch);
        assertThat(part).isEqualTo(everyNth(whole, worldSize, rank));
      }
    }
  }

  @Property(tries = 200)
  void everySampleIsDeliveredOnceApartFromPadding(
      @ForAll @IntRange(min = 1, max = 500) int datasetSize,
      @ForAll @IntRange(min = 1, max = 64) int worldSize,
      @ForAll @LongRange(min = 0) long epoch,
      @ForAll long seed,
      @ForAll boolean uneven) {
    Tail tail = uneven ? Tail.UNEVEN : Tail.PAD;
    long[] seen =
        IntStream.range(0, worldSize)
            .mapToObj(rank -> PythonDistributedSampler.of(datasetSize, new Part(worldSize, rank)))
            .map(plan -> plan.withSeed(seed).withTail(tail))
            .flatMapToLong(plan -> LongStream.of(Cursors.withoutPadding(plan, epoch)))
            .sorted()
            .toArray();
    assertThat(seen).isEqualTo(LongStream.range(0, datasetSize).toArray());
  }

  private static PythonDistributedSampler uneven(
      int datasetSize, Part part, boolean shuffle, long seed) {
    PythonDistributedSampler plan =
        shuffle
            ? PythonDistributedSampler.of(datasetSize, part)
            : PythonDistributedSampler.inOrder(datasetSize, part);
    return plan.withSeed(seed).withTail(Tail.UNEVEN);
  }

  @Property(tries = 200)
  void aDifferentNumberOfRanksContinuesTheOrder(
      @ForAll @IntRange(min = 1, max = 300) int datasetSize,
      @ForAll @IntRange(min = 1, max = 17) int before,
      @ForAll @IntRange(min = 1, max = 17) int after,
      @ForAll @IntRange(max = 300) int steps,
      @ForAll boolean shuffle,
      @ForAll long seed) {
    var plan = uneven(datasetSize, Part.whole(), shuffle, seed);
    long[] whole = Cursors.indices(plan, 3);
    long each = Math.min(steps, Stride.sizeOfLongestRank(datasetSize, before, Tail.UNEVEN));
    long[] left =
        Arrays.copyOfRange(whole, (int) Math.min(datasetSize, each * before), datasetSize);
    for (int rank = 0; rank < after; rank++) {
      var part = uneven(datasetSize, new Part(after, rank), shuffle, seed);
      try (Cursor cursor = part.resume(3, List.of(new EpochSegment(before, each)))) {
        assertThat(Cursors.rest(cursor)).isEqualTo(unpadded(left, after, rank));
      }
    }
  }

  @Property(tries = 200)
  void seekingABatchSkipsTheBatchesBeforeIt(
      @ForAll @IntRange(min = 1, max = 300) int datasetSize,
      @ForAll @IntRange(min = 1, max = 50) int batchSize,
      @ForAll boolean dropLast,
      @ForAll long seed) {
    Sampler order = PythonRandomSampler.of(datasetSize, seed);
    long[] whole = Cursors.indices(order, 1);
    FixedSizeBatchSampler plan = FixedSizeBatchSampler.of(order, batchSize).withDropLast(dropLast);
    long[] batch = new long[plan.maxBatchSize()];
    try (BatchCursor cursor = plan.epoch(1)) {
      for (long number = plan.batches(1); --number >= 0; ) {
        cursor.seek(number);
        assertThat(cursor.position()).isEqualTo(number);
        int size = cursor.next(batch, 0);
        int start = (int) number * batchSize;
        assertThat(Arrays.copyOf(batch, size))
            .isEqualTo(Arrays.copyOfRange(whole, start, Math.min(start + batchSize, datasetSize)));
        assertThat(cursor.remaining()).isEqualTo(plan.batches(1) - number - 1);
      }
    }
  }

  @Property(tries = 200)
  void aSplitContainsEverySampleOnce(
      @ForAll @Size(max = 8) List<@LongRange(min = 0, max = 100) Long> lengths, @ForAll long seed) {
    long[] wanted = lengths.stream().mapToLong(Long::longValue).toArray();
    List<long[]> parts = RandomSplit.byLengths(wanted, seed);
    assertThat(parts.stream().mapToLong(part -> part.length).toArray()).isEqualTo(wanted);
    assertThat(parts.stream().flatMapToLong(LongStream::of).sorted().toArray())
        .isEqualTo(LongStream.range(0, LongStream.of(wanted).sum()).toArray());
  }

  @Property(tries = 50)
  void anEpochIsThePassAfterAllPreviousOnes(
      @ForAll @IntRange(min = 1, max = 100) int datasetSize,
      @ForAll @IntRange(min = 1, max = 300) int numSamples,
      @ForAll boolean replacement,
      @ForAll long seed) {
    Mt19937 generator = new Mt19937(seed);
    Sampler plan =
        PythonRandomSampler.of(datasetSize, seed)
            .withReplacement(replacement)
            .withNumSamples(numSamples);
    for (long epoch = 0; epoch < 4; epoch++) {
      long[] pass =
          replacement
              ? LongStream.generate(() -> generator.nextUnsigned() % datasetSize)
                  .limit(numSamples)
                  .toArray()
              : permutations(datasetSize, numSamples, generator);
      assertThat(Cursors.indices(plan, epoch)).isEqualTo(pass);
    }
  }

  private static long[] permutations(int datasetSize, int numSamples, Mt19937 generator) {
    int[] whole =
        IntStream.range(0, numSamples / datasetSize + 1)
            .mapToObj(i -> shuffled(datasetSize, generator))
            .flatMapToInt(Arrays::stream)
            .toArray();
    return Arrays.stream(whole).asLongStream().limit(numSamples).toArray();
  }

  private static int[] shuffled(int n, Mt19937 generator) {
    int[] list = IntStream.range(0, n).toArray();
    for (int i = 0; i < n - 1; i++) {
      int j = i + (int) (generator.nextUnsigned() % (n - i));
      int value = list[i];
      list[i] = list[j];
      list[j] = value;
    }
    return list;
  }

  private static int[] insideOut(int n, Mt19937 generator) {
    int[] list = new int[n];
    for (int i = 0; i < n; i++) {
      int j = (int) Long.remainderUnsigned(generator.nextLong(), i + 1L);
      list[i] = i;
      list[i] = list[j];
      list[j] = i;
    }
    return list;
  }

  private static int[] byQuotient(double[] weights, Mt19937 generator) {
    double[] quotients = new double[weights.length];
    for (int i = 0; i < weights.length; i++) {
      quotients[i] = weights[i] / -StrictMath.log1p(-generator.nextDouble());
    }
    Comparator<Integer> zerosLast = Comparator.comparing(i -> weights[i] == 0);
    return IntStream.range(0, weights.length)
        .boxed()
        .sorted(
            zerosLast
                .thenComparing(i -> quotients[i], Comparator.reverseOrder())
                .thenComparing(Comparator.naturalOrder()))
        .mapToInt(Integer::intValue)
        .toArray();
  }

  private static long[] everyNth(long[] order, int worldSize, int rank) {
    return IntStream.range(0, (order.length + worldSize - 1) / worldSize)
        .mapToLong(step -> order[(rank + step * worldSize) % order.length])
        .toArray();
  }

  private static long[] unpadded(long[] order, int worldSize, int rank) {
    return IntStream.range(0, order.length)
        .filter(position -> position % worldSize == rank)
        .mapToLong(position -> order[position])
        .toArray();
  }
}
