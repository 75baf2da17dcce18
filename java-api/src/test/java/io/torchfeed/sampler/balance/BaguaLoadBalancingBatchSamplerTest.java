// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.torchfeed.internal.Hash64;
import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Tail;
import io.torchfeed.testing.Cursors;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of variable-size batches over Bagua's order, equally many on every rank. */
class BaguaLoadBalancingBatchSamplerTest {
  private static final Costs TEN = Costs.computed(10, index -> index);

  @Test
  void batchesTakeTheIndicesInTheirOrder() {
    Costs descending = Costs.computed(15, index -> 14 - index);
    BatchSampler batches =
        BaguaLoadBalancingBatchSampler.of(
            samples(descending, 1, 0).inOrder(), "1 to 5", indices -> new int[] {1, 2, 3, 4, 5});
    assertThat(batches.batches(0)).isEqualTo(5);
    assertThat(read(batches, 0))
        .isDeepEqualTo(new long[][] {{14}, {13, 12}, {11, 10, 9}, {8, 7, 6, 5}, {4, 3, 2, 1, 0}});
  }

  @Test
  void batchesRepeatUntilEveryRankHasEquallyMany() {
    BaguaLoadBalancingBatchSampler.BatchFunction twoOrFive =
        indices -> indices[0] == 0 ? new int[] {2, 3} : new int[] {1, 1, 1, 1, 1};
    BatchSampler two = batches(TEN, 2, 0, twoOrFive);
    assertThat(read(two, 0))
        .isDeepEqualTo(new long[][] {{0, 2}, {4, 6, 8}, {0, 2}, {4, 6, 8}, {0, 2}});
    assertThat(padding(two, 0)).containsExactly("..", "...", "++", "+++", "++");
    BatchSampler five = batches(TEN, 2, 1, twoOrFive);
    assertThat(read(five, 0)).isDeepEqualTo(new long[][] {{1}, {3}, {5}, {7}, {9}});
    assertThat(padding(five, 0)).containsOnly(".");
    assertThat(List.of(two.batches(0), five.batches(0))).containsOnly(5L);
  }

  @Test
  void surplusBatchesAreDroppedWhenDropping() {
    BaguaLoadBalancingBatchSampler.BatchFunction threeOrFive =
        indices -> indices[0] == 0 ? new int[] {1, 1, 1, 1, 1} : new int[] {2, 2, 1};
    BatchSampler five = batches(TEN, 2, 0, threeOrFive).withTail(Tail.DROP);
    assertThat(five.batches(0)).isEqualTo(3);
    assertThat(read(five, 0)).isDeepEqualTo(new long[][] {{0}, {2}, {4}});
    BatchSampler three = batches(TEN, 2, 1, threeOrFive).withTail(Tail.DROP);
    assertThat(read(three, 0)).isDeepEqualTo(new long[][] {{1, 3}, {5, 7}, {9}});
    assertThat(padding(three, 0)).containsExactly("..", "..", ".");
  }

  @Test
  void paddingOfTheSamplerStaysFlagged() {
    BatchSampler last = batches(TEN, 3, 2, indices -> new int[] {3, 1});
    assertThat(read(last, 0)).isDeepEqualTo(new long[][] {{2, 5, 8}, {1}});
    assertThat(padding(last, 0)).containsExactly("...", "+");
  }

  @Test
  void theEpochIsPassedToTheSampler() {
    Costs costs = Costs.of(7, 8, 11, 4, 5, 2, 9, 10, 0, 6, 1, 3);
    BatchSampler pairs =
        BaguaLoadBalancingBatchSampler.of(
            samples(costs, 2, 0), "pairs", indices -> new int[] {2, 2, 2});
    assertThat(read(pairs, 0)).isDeepEqualTo(new long[][] {{8, 7}, {1, 5}, {3, 9}});
    assertThat(read(pairs, 1)).isDeepEqualTo(new long[][] {{1, 8}, {9, 3}, {5, 7}});
    assertThat(read(pairs, 0)).isDeepEqualTo(new long[][] {{8, 7}, {1, 5}, {3, 9}});
  }

  @Test
  void sumsOfCostsStayWithinTheirLimit() {
    BatchSampler batches =
        BaguaLoadBalancingBatchSampler.bySumOfCosts(samples(TEN, 1, 0).inOrder(), TEN, 10);
    assertThat(read(batches, 0))
        .isDeepEqualTo(new long[][] {{0, 1, 2, 3, 4}, {5}, {6}, {7}, {8}, {9}});
    assertThat(batches.maxBatchSize()).isEqualTo(5);
  }

  @Property(tries = 300)
  void everySampleIsDeliveredOnceApartFromPadding(
      @ForAll @IntRange(max = 200) int size,
      @ForAll @IntRange(min = 1, max = 9) int worldSize,
      @ForAll @IntRange(min = 63, max = 300) int limit,
      @ForAll long seed,
      @ForAll @IntRange(max = 3) int epoch) {
    Costs costs = Costs.computed(size, index -> Hash64.mix(seed + index) >>> 58);
    List<Long> once = new ArrayList<>();
    List<Integer> padded = new ArrayList<>();
    for (int rank = 0; rank < worldSize; rank++) {
      BaguaLoadBalancingSampler samples = samples(costs, worldSize, rank).withSeed(seed);
      BaguaLoadBalancingBatchSampler plan =
          BaguaLoadBalancingBatchSampler.bySumOfCosts(samples, costs, limit);
      long[][] all = read(plan, epoch);
      padded.add(all.length);
      assertThat(plan.batches(epoch)).isEqualTo(all.length);
      for (long[] batch : all) {
        assertThat(batch.length).isBetween(1, plan.maxBatchSize());
        assertThat(Arrays.stream(batch).map(costs::at).sum()).isLessThanOrEqualTo(limit);
      }
      assertThat(flat(all)).startsWith(Cursors.indices(samples, epoch));
      List<String> flags = padding(plan, epoch);
      for (int i = 0; i < all.length; i++) {
        for (int element = 0; element < all[i].length; element++) {
          if (flags.get(i).charAt(element) == '.') {
            once.add(all[i][element]);
          }
        }
      }
    }
    assertThat(padded.stream().distinct()).hasSize(1);
    assertThat(once.stream().mapToLong(Long::longValue).sorted().toArray())
        .isEqualTo(LongStream.range(0, size).toArray());
  }

  @Property(tries = 200)
  void droppingKeepsTheFirstBatchesOfEachRank(
      @ForAll @IntRange(max = 200) int size,
      @ForAll @IntRange(min = 1, max = 9) int worldSize,
      @ForAll long seed) {
    Costs costs = Costs.computed(size, index -> Hash64.mix(seed + index) >>> 58);
    List<Integer> counts = new ArrayList<>();
    long fewest = Long.MAX_VALUE;
    for (int rank = 0; rank < worldSize; rank++) {
      BaguaLoadBalancingBatchSampler plan =
          BaguaLoadBalancingBatchSampler.bySumOfCosts(samples(costs, worldSize, rank), costs, 80);
      long[][] padded = read(plan, 1);
      long[][] kept = read(plan.withTail(Tail.DROP), 1);
      assertThat(kept).isDeepEqualTo(Arrays.copyOf(padded, kept.length));
      counts.add(kept.length);
      long[] own = Cursors.indices(samples(costs, worldSize, rank), 1);
      fewest = Math.min(fewest, size == 0 ? 0 : new CostSumBatches(costs, 80).sizes(own).length);
    }
    assertThat(counts).containsOnly((int) fewest);
  }

  @Property(tries = 100)
  void seekingEqualsSkipping(
      @ForAll @IntRange(min = 1, max = 200) int size, @ForAll @IntRange(max = 1000) int permille) {
    Costs costs = Costs.computed(size, index -> index % 17);
    BatchSampler plan =
        BaguaLoadBalancingBatchSampler.bySumOfCosts(samples(costs, 3, 1), costs, 20);
    long[][] all = read(plan, 2);
    int position = all.length * permille / 1000;
    try (BatchCursor cursor = plan.epoch(2)) {
      cursor.seek(all.length);
      cursor.seek(position);
      assertThat(cursor.position()).isEqualTo(position);
      assertThat(cursor.remaining()).isEqualTo(all.length - position);
      assertThat(rest(cursor, plan.maxBatchSize()))
          .isDeepEqualTo(Arrays.copyOfRange(all, position, all.length));
    }
  }

  @Test
  void anEmptyDatasetHasNoBatches() {
    BatchSampler none =
        BaguaLoadBalancingBatchSampler.bySumOfCosts(samples(Costs.of(), 3, 1), Costs.of(), 1);
    assertThat(none.batches(0)).isZero();
    assertThat(none.maxBatchSize()).isEqualTo(1);
    try (BatchCursor cursor = none.epoch(0)) {
      assertThat(cursor.next(new long[1], 0)).isZero();
      assertThat(cursor.remaining()).isZero();
    }
  }

  @Test
  void parametersNameTheBatchFunctionAndBothTails() {
    BaguaLoadBalancingSampler samples = samples(TEN, 2, 1).withSeed(7);
    PlanParameters named =
        BaguaLoadBalancingBatchSampler.of(samples, "mine, 3", indices -> new int[] {5})
            .withTail(Tail.DROP)
            .parameters();
    assertThat(named.kind()).isEqualTo("bagua.LoadBalancingDistributedBatchSampler");
    assertThat(named.values())
        .containsAllEntriesOf(samples.parameters().values())
        .containsEntry("batchFunction", "mine, 3")
        .containsEntry("batchTail", "DROP");
    BatchSampler sums = BaguaLoadBalancingBatchSampler.bySumOfCosts(samples, TEN, 12);
    assertThat(sums.parameters().values())
        .containsEntry("batchFunction", "sumOfCosts(" + TEN.digest() + ", 12)");
    assertThat(sums).hasToString("BaguaLoadBalancingBatchSampler" + sums.parameters().values());
  }

  @Test
  void aClosedCursorIsRefused() {
    BatchCursor cursor = batches(TEN, 2, 0, indices -> new int[] {5}).epoch(0);
    cursor.close();
    cursor.close();
    assertThatIllegalStateException()
        .isThrownBy(cursor::position)
        .withMessageContaining("BaguaLoadBalancingBatchSampler")
        .withMessageEndingWith("is closed");
    assertThatIllegalStateException().isThrownBy(() -> cursor.next(new long[5], 0));
  }

  @Test
  void positionsOutsideTheEpochAreRefused() {
    try (BatchCursor cursor = batches(TEN, 2, 0, indices -> new int[] {2, 3}).epoch(0)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> cursor.seek(3))
          .withMessage("position must be in [0, 2], got 3");
      assertThatIllegalArgumentException().isThrownBy(() -> cursor.seek(-1));
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> cursor.next(new long[3], 2));
      assertThat(cursor.position()).isZero();
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> cursor.isPadding(0, 2));
      assertThatExceptionOfType(IndexOutOfBoundsException.class)
          .isThrownBy(() -> cursor.isPadding(2, 0));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, Integer.MIN_VALUE, 6, Integer.MAX_VALUE})
  void sizesOutOfRangeAreRefused(int size) {
    BatchSampler plan = batches(TEN, 2, 1, indices -> new int[] {5, size});
    assertThatIllegalStateException()
        .isThrownBy(() -> plan.epoch(0))
        .withMessage(
            "the batch function test must return sizes in [1, 5], got %d for batch 1 of rank 0"
                .formatted(size));
    assertThatIllegalStateException().isThrownBy(() -> plan.batches(0));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 3})
  void sizesWithTheWrongSumAreRefused(int size) {
    BaguaLoadBalancingBatchSampler.BatchFunction wrongForRankOne =
        indices -> new int[] {3, indices[0] == 0 ? 2 : size};
    assertThatIllegalStateException()
        .isThrownBy(() -> batches(TEN, 2, 0, wrongForRankOne).epoch(0))
        .withMessage(
            "the batch function test must return sizes whose sum is the number of indices 5, got %d for rank 1"
                .formatted(3 + size));
  }

  @Test
  void anEmptyArrayOfSizesIsRefused() {
    assertThatIllegalStateException()
        .isThrownBy(() -> batches(TEN, 2, 0, indices -> new int[0]).epoch(0))
        .withMessageContaining("indices 5, got 0 for rank 0");
  }

  @Test
  @SuppressWarnings("NullAway") // a caller without null checks can pass null
  void nullSizesAreRefused() {
    assertThatNullPointerException()
        .isThrownBy(() -> batches(TEN, 2, 0, indices -> null).epoch(0))
        .withMessageContaining("the batch function test");
  }

  @Test
  void theArraysOfABatchFunctionAreCopied() {
    int[] sizes = {2, 3};
    BatchSampler plan =
        batches(
            TEN,
            2,
            0,
            indices -> {
              Arrays.fill(indices, -1);
              return sizes;
            });
    assertThat(read(plan, 0)).isDeepEqualTo(new long[][] {{0, 2}, {4, 6, 8}});
    assertThat(sizes).containsExactly(2, 3);
  }

  @Test
  void batchesLargerThanDeclaredAreRefused() {
    BaguaLoadBalancingBatchSampler plan = batches(TEN, 2, 0, indices -> new int[] {2, 3});
    assertThat(plan.maxBatchSize()).isEqualTo(5);
    assertThat(plan.withMaxBatchSize(3).maxBatchSize()).isEqualTo(3);
    assertThat(plan.withMaxBatchSize(3).batches(0)).isEqualTo(2);
    assertThatIllegalStateException()
        .isThrownBy(() -> plan.withMaxBatchSize(2).batches(0))
        .withMessageContaining("in [1, 2], got 3 for batch 1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> plan.withMaxBatchSize(0))
        .withMessage("maxBatchSize must be at least 1, got 0");
  }

  @Test
  void samplesThatNoBatchCanHoldAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> BaguaLoadBalancingBatchSampler.bySumOfCosts(samples(TEN, 2, 0), TEN, 8))
        .withMessageContaining("every sample must fit the limit 8, got cost 9 at index 9");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> BaguaLoadBalancingBatchSampler.bySumOfCosts(samples(TEN, 2, 0), TEN, 0))
        .withMessage("limit must be at least 1, got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () -> BaguaLoadBalancingBatchSampler.bySumOfCosts(samples(TEN, 2, 0), Costs.of(1), 9))
        .withMessageContaining("the 10 samples of the dataset, got 1");
    assertThat(
            BaguaLoadBalancingBatchSampler.bySumOfCosts(samples(TEN, 1, 0), TEN, Long.MAX_VALUE)
                .batches(0))
        .isEqualTo(1);
  }

  @Test
  void otherInvalidArgumentsAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                BaguaLoadBalancingBatchSampler.of(
                    samples(TEN, 2, 0).withTail(Tail.DROP), "test", indices -> new int[] {5}))
        .withMessage(
            "the sampler must have Tail.PAD, got DROP; drop batches instead, using withTail");
    BaguaLoadBalancingBatchSampler plan = batches(TEN, 2, 0, indices -> new int[] {5});
    assertThatIllegalArgumentException()
        .isThrownBy(() -> plan.withTail(Tail.UNEVEN))
        .withMessageContaining("got UNEVEN");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> plan.epoch(-1))
        .withMessage("epoch must be at least 0, got -1");
    assertThatIllegalArgumentException().isThrownBy(() -> plan.batches(-1));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "a|b"})
  void invalidNamesAreRefused(String name) {
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                BaguaLoadBalancingBatchSampler.of(
                    samples(TEN, 2, 0), name, indices -> new int[] {5}))
        .withMessageEndingWith("got \"" + name + "\"");
  }

  private static BaguaLoadBalancingSampler samples(Costs costs, int worldSize, int rank) {
    return BaguaLoadBalancingSampler.of(costs, new Part(worldSize, rank));
  }

  private static BaguaLoadBalancingBatchSampler batches(
      Costs costs, int worldSize, int rank, BaguaLoadBalancingBatchSampler.BatchFunction function) {
    return BaguaLoadBalancingBatchSampler.of(
        samples(costs, worldSize, rank).inOrder(), "test", function);
  }

  private static long[][] read(BatchSampler plan, long epoch) {
    try (BatchCursor cursor = plan.epoch(epoch)) {
      return rest(cursor, plan.maxBatchSize());
    }
  }

  private static long[][] rest(BatchCursor cursor, int maxBatchSize) {
    List<long[]> batches = new ArrayList<>();
    long[] indices = new long[maxBatchSize];
    for (int size = cursor.next(indices, 0); size > 0; size = cursor.next(indices, 0)) {
      batches.add(Arrays.copyOf(indices, size));
    }
    return batches.toArray(long[][]::new);
  }

  /** Returns a plus for each index that is padding, and a dot for each other index. */
  private static List<String> padding(BatchSampler plan, long epoch) {
    long[][] all = read(plan, epoch);
    try (BatchCursor cursor = plan.epoch(epoch)) {
      return IntStream.range(0, all.length)
          .mapToObj(batch -> padding(cursor, batch, all[batch].length))
          .toList();
    }
  }

  private static String padding(BatchCursor cursor, int batch, int size) {
    StringBuilder flags = new StringBuilder();
    for (int element = 0; element < size; element++) {
      flags.append(cursor.isPadding(batch, element) ? '+' : '.');
    }
    return flags.toString();
  }

  private static long[] flat(long[][] batches) {
    return Arrays.stream(batches).flatMapToLong(Arrays::stream).toArray();
  }
}
