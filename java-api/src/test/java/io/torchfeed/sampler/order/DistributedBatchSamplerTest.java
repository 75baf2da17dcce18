// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.testing.Cursors;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of batches of an order distributed over ranks. */
class DistributedBatchSamplerTest {
  private static Sampler sequence(int size) {
    return ListSampler.inOrder(LongStream.range(0, size).toArray());
  }

  private static List<long[]> rest(BatchCursor cursor, boolean paddingToo) {
    List<long[]> batches = new ArrayList<>();
    long[] into = new long[64];
    for (long batch = cursor.position(); cursor.remaining() > 0; batch++) {
      int size = cursor.next(into, 0);
      long number = batch;
      batches.add(
          IntStream.range(0, size)
              .filter(i -> paddingToo || !cursor.isPadding(number, i))
              .mapToLong(i -> into[i])
              .toArray());
    }
    assertThat(cursor.next(into, 0)).isZero();
    return batches;
  }

  private static List<long[]> batches(BatchSampler plan) {
    try (BatchCursor cursor = plan.epoch(0)) {
      return rest(cursor, true);
    }
  }

  private static DistributedBatchSampler plan(
      Sampler order, boolean split, int batchSize, int worldSize, int rank) {
    return split
        ? DistributedBatchSampler.ofGlobalBatches(
            order, batchSize * worldSize, new Part(worldSize, rank))
        : DistributedBatchSampler.ofWholeBatches(order, batchSize, new Part(worldSize, rank));
  }

  @Test
  void wholeBatchesAreAssignedRoundRobin() {
    assertThat(batches(DistributedBatchSampler.ofWholeBatches(sequence(14), 3, new Part(2, 0))))
        .containsExactly(new long[] {0, 1, 2}, new long[] {6, 7, 8}, new long[] {12, 13, 0});
    assertThat(batches(DistributedBatchSampler.ofWholeBatches(sequence(14), 3, new Part(2, 1))))
        .containsExactly(new long[] {3, 4, 5}, new long[] {9, 10, 11}, new long[] {1, 2, 3});
    DistributedBatchSampler dropped =
        DistributedBatchSampler.ofWholeBatches(sequence(14), 3, new Part(2, 1)).withTail(Tail.DROP);
    assertThat(batches(dropped)).containsExactly(new long[] {3, 4, 5}, new long[] {9, 10, 11});
  }

  @Test
  void globalBatchesAreSplitByStride() {
    assertThat(batches(DistributedBatchSampler.ofGlobalBatches(sequence(14), 6, new Part(2, 0))))
        .containsExactly(new long[] {0, 2, 4}, new long[] {6, 8, 10}, new long[] {12, 0, 2});
    assertThat(batches(DistributedBatchSampler.ofGlobalBatches(sequence(14), 6, new Part(2, 1))))
        .containsExactly(new long[] {1, 3, 5}, new long[] {7, 9, 11}, new long[] {13, 1, 3});
  }

  @Test
  void fewerSamplesThanAStepAreRepeated() {
    assertThat(batches(DistributedBatchSampler.ofWholeBatches(sequence(2), 3, new Part(2, 1))))
        .containsExactly(new long[] {1, 0, 1});
    assertThat(batches(DistributedBatchSampler.ofGlobalBatches(sequence(3), 8, new Part(2, 1))))
        .containsExactly(new long[] {1, 0, 2, 1});
    assertThat(batches(DistributedBatchSampler.ofWholeBatches(sequence(0), 3, new Part(2, 1))))
        .isEmpty();
  }

  @Property(tries = 200)
  void everyStepIsASliceOfTheOrderAndEverySampleIsDeliveredOnce(
      @ForAll @IntRange(min = 1, max = 200) int size,
      @ForAll @IntRange(min = 1, max = 9) int batchSize,
      @ForAll @IntRange(min = 1, max = 17) int worldSize,
      @ForAll boolean split) {
    Sampler order = ListSampler.shuffled(size, LongStream.range(0, size).toArray());
    long[] all = Cursors.indices(order, 0);
    int step = batchSize * worldSize;
    long[] seen = new long[0];
    for (int rank = 0; rank < worldSize; rank++) {
      DistributedBatchSampler plan = plan(order, split, batchSize, worldSize, rank);
      assertThat(plan.batches(0)).isEqualTo((size + step - 1) / step);
      assertThat(plan.maxBatchSize()).isEqualTo(batchSize);
      List<long[]> batches = batches(plan);
      for (int k = 0; k < batches.size(); k++) {
        long[] piece =
            IntStream.range(k * step, (k + 1) * step).mapToLong(p -> all[p % size]).toArray();
        assertThat(piece).contains(batches.get(k)).hasSize(step);
      }
      try (BatchCursor cursor = plan.epoch(0)) {
        seen = concatenated(seen, rest(cursor, false));
      }
    }
    assertThat(Arrays.stream(seen).sorted().toArray())
        .isEqualTo(LongStream.range(0, size).toArray());
  }

  private static long[] concatenated(long[] first, List<long[]> more) {
    return LongStream.concat(LongStream.of(first), more.stream().flatMapToLong(LongStream::of))
        .toArray();
  }

  @Property(tries = 100)
  void seekEqualsSkipAtEveryBatch(
      @ForAll @IntRange(min = 1, max = 120) int size,
      @ForAll @IntRange(min = 1, max = 9) int batchSize,
      @ForAll @IntRange(min = 1, max = 5) int worldSize,
      @ForAll boolean split) {
    DistributedBatchSampler plan = plan(sequence(size), split, batchSize, worldSize, worldSize - 1);
    List<long[]> all = batches(plan);
    try (BatchCursor cursor = plan.epoch(0)) {
      for (int batch = all.size(); batch >= 0; batch--) {
        cursor.seek(batch);
        assertThat(cursor.position()).isEqualTo(batch);
        assertThat(rest(cursor, true).toArray(long[][]::new))
            .isEqualTo(all.subList(batch, all.size()).toArray(long[][]::new));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anyTwoWorldSizesDeliverEverySampleOnce(boolean split) {
    for (int before = 1; before <= 17; before++) {
      for (int after = 1; after <= 17; after++) {
        int globalBatch = before * after;
        List<EpochSegment> step = List.of(new EpochSegment(before, 1));
        long[] seen = new long[0];
        for (int rank = 0; rank < before; rank++) {
          seen = concatenated(seen, firstBatch(elastic(split, globalBatch, before, rank)));
        }
        for (int rank = 0; rank < after; rank++) {
          try (BatchCursor cursor = elastic(split, globalBatch, after, rank).resume(0, step)) {
            seen = concatenated(seen, rest(cursor, false));
          }
        }
        assertThat(Arrays.stream(seen).sorted().toArray())
            .isEqualTo(LongStream.range(0, 100).toArray());
      }
    }
  }

  /** Returns a plan that keeps either the global batch size or the batch size per rank. */
  private static DistributedBatchSampler elastic(
      boolean split, int globalBatch, int worldSize, int rank) {
    return plan(sequence(100), split, split ? globalBatch / worldSize : 4, worldSize, rank);
  }

  private static List<long[]> firstBatch(DistributedBatchSampler plan) {
    try (BatchCursor cursor = plan.epoch(0)) {
      return rest(cursor, false).subList(0, 1);
    }
  }

  @Test
  void invalidArgumentsAreRefused() {
    Sampler order = sequence(9);
    for (int batch : new int[] {0, -1}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> DistributedBatchSampler.ofWholeBatches(order, batch, new Part(2, 0)))
          .withMessage("batchSize must be at least 1, got " + batch);
    }
    for (int batch : new int[] {0, -2, 3}) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> DistributedBatchSampler.ofGlobalBatches(order, batch, new Part(2, 0)))
          .withMessage(
              "globalBatch must be a multiple of worldSize (2) and at least 1, got " + batch);
    }
    DistributedBatchSampler plan = DistributedBatchSampler.ofWholeBatches(order, 4, new Part(2, 1));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> plan.withTail(Tail.UNEVEN))
        .withMessageStartingWith("tail must be PAD or DROP");
    assertThatIllegalArgumentException().isThrownBy(() -> plan.epoch(-1));
    assertThatIllegalArgumentException().isThrownBy(() -> plan.batches(-1));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> plan.resume(0, List.of(new EpochSegment(2, 3))))
        .withMessageStartingWith("each rank of a segment can have delivered at most 2");
    Sampler half = StridedSampler.of(order, new Part(2, 0));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> DistributedBatchSampler.ofWholeBatches(half, 4, new Part(2, 1)))
        .withMessageContaining("rank 0 of 2");
  }

  @Test
  void cursorsRefuseArgumentsOutOfRange() {
    DistributedBatchSampler plan =
        DistributedBatchSampler.ofWholeBatches(sequence(9), 4, new Part(2, 1));
    BatchCursor cursor = plan.epoch(0);
    assertThatThrownBy(() -> cursor.next(new long[4], 1))
        .isInstanceOf(IndexOutOfBoundsException.class);
    assertThat(cursor.position()).isZero();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> cursor.seek(3))
        .withMessage("position must be in [0, 2], got 3");
    assertThatIllegalArgumentException().isThrownBy(() -> cursor.seek(-1));
    assertThatThrownBy(() -> cursor.isPadding(2, 0)).isInstanceOf(IndexOutOfBoundsException.class);
    assertThatThrownBy(() -> cursor.isPadding(0, 4)).isInstanceOf(IndexOutOfBoundsException.class);
    cursor.close();
    cursor.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> cursor.next(new long[4], 0))
        .withMessageMatching("the cursor of DistributedBatchSampler\\[.*] is closed");
    assertThatIllegalStateException().isThrownBy(cursor::remaining);
  }

  @Test
  void everyParameterDistinguishesPlans() {
    DistributedBatchSampler plan =
        DistributedBatchSampler.ofWholeBatches(sequence(9), 4, new Part(2, 1));
    assertThat(
            Stream.of(
                    plan,
                    plan.withTail(Tail.DROP),
                    DistributedBatchSampler.ofGlobalBatches(sequence(9), 8, new Part(2, 1)),
                    DistributedBatchSampler.ofWholeBatches(sequence(8), 4, new Part(2, 1)),
                    DistributedBatchSampler.ofWholeBatches(sequence(9), 3, new Part(2, 1)),
                    DistributedBatchSampler.ofWholeBatches(sequence(9), 4, new Part(3, 1)),
                    DistributedBatchSampler.ofWholeBatches(sequence(9), 4, new Part(2, 0)))
                .map(BatchSampler::digest)
                .distinct())
        .hasSize(7);
  }
}
