// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import static io.torchfeed.testing.Cursors.indices;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.EpochSegment;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.split.RandomSplit;
import io.torchfeed.sampler.torch.SequentialSampler;
import io.torchfeed.testing.Cursors;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the plans of Python's samplers: published vectors, arguments, parameters. */
class PythonSamplersTest {
  private static final double[] WEIGHTS = {0.1, 0.9, 0.4, 0.7, 3, 0.6};
  private static final int MAX_SIZE = 2_147_483_639;

  private static long[] parsed(String text) {
    return text.isEmpty()
        ? new long[0]
        : Arrays.stream(text.split(" ", -1)).mapToLong(Long::parseLong).toArray();
  }

  @Nested
  class Distributed {
    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        value = {
          "10|3|0|PAD|4 5 0 2, 1 3 8 4, 7 9 6 1",
          "10|3|1|PAD|5 2 9 4, 6 0 3 5, 1 8 7 6",
          "10|3|2|PAD|8 5 0 3, 7 6 4 8, 1 9 2 7",
          "10|3|0|DROP|4 5 0, 1 3 8, 7 9 6",
          "10|3|0|UNEVEN|4 5 0 2, 1 3 8, 7 9 6",
          "9|4|0|PAD|8 7 6, 0 1 8, 2 4 0, 3 5 2",
          "12|2|0|PAD|8 5 7 2 3 11, 0 9 4 10 1 6",
          "12|2|1|PAD|1 6 11 5 2 10, 4 8 0 3 9 7",
          "2|5|0|PAD|0, 1, 0, 1, 0",
          "2|5|0|DROP|, , , , ",
        })
    void ranksHaveThePublishedOrders(
        long datasetSize, int worldSize, long epoch, Tail tail, String expected) {
      String[] ranks = expected.split(", ?", -1);
      for (int rank = 0; rank < worldSize; rank++) {
        Sampler plan =
            new PythonDistributedSampler(datasetSize, new Part(worldSize, rank)).withTail(tail);
        assertThat(indices(plan, epoch)).isEqualTo(parsed(ranks[rank]));
      }
    }

    @Test
    void ranksWithoutShuffleTakeTurns() {
      assertThat(indices(PythonDistributedSampler.inOrder(10, new Part(3, 2)), 9))
          .isEqualTo(parsed("2 5 8 1"));
      assertThat(
              indices(PythonDistributedSampler.inOrder(10, new Part(3, 2)).withTail(Tail.DROP), 0))
          .isEqualTo(parsed("2 5 8"));
    }

    @ParameterizedTest
    @CsvSource({"2, 51, 52", "3, 34, 35", "4, 26, 27"})
    void sizesMatchThePublishedOnes(int worldSize, long dropped, long padded) {
      var plan = new PythonDistributedSampler(100 + worldSize + 1, new Part(worldSize, 0));
      assertThat(plan.withTail(Tail.DROP).size()).isEqualTo(dropped);
      assertThat(plan.size()).isEqualTo(padded);
    }

    @Test
    void onlyTheLow32BitsOfSeedPlusEpochMatter() {
      var plan = new PythonDistributedSampler(100, Part.whole());
      long[] second = indices(plan, 1);
      assertThat(indices(plan.withSeed(1), 0)).isEqualTo(second);
      assertThat(indices(plan.withSeed(1L << 32), 1)).isEqualTo(second);
      assertThat(indices(plan.withSeed(Long.MAX_VALUE), Long.MAX_VALUE))
          .isEqualTo(indices(plan.withSeed(-2), 0));
    }

    @Test
    void theRemainderIsDividedOverOtherRanks() {
      long[] order = parsed("4 1 7 5 3 9 0 8 6 2");
      List<EpochSegment> delivered = List.of(new EpochSegment(3, 1), new EpochSegment(2, 2));
      assertThat(rest(2, 0, delivered)).containsExactly(order[7], order[9]);
      assertThat(rest(2, 1, delivered)).containsExactly(order[8], order[0]);
    }

    private static long[] rest(int worldSize, int rank, List<EpochSegment> delivered) {
      try (Cursor cursor =
          new PythonDistributedSampler(10, new Part(worldSize, rank)).resume(0, delivered)) {
        return Cursors.rest(cursor);
      }
    }

    @Test
    void everyParameterExceptRankAndWorldSizeDeterminesTheOrder() {
      var plan = new PythonDistributedSampler(10, new Part(3, 1));
      assertThat(plan.order()).isEqualTo(new PythonDistributedSampler(10, new Part(4, 2)).order());
      assertDistinct(
          plan,
          plan.withSeed(1),
          plan.withTail(Tail.DROP),
          PythonDistributedSampler.inOrder(10, new Part(3, 1)),
          new PythonDistributedSampler(11, new Part(3, 1)),
          new PythonDistributedSampler(10, new Part(4, 1)),
          new PythonDistributedSampler(10, new Part(3, 2)));
    }

    @Test
    void argumentsOutOfRangeAreRefused() {
      assertRefused(() -> new PythonDistributedSampler(-1, new Part(3, 0)), "datasetSize", "-1");
      assertRefused(
          () -> new PythonDistributedSampler(MAX_SIZE + 1L, new Part(3, 0)),
          "[0, 2147483639] with shuffle");
      assertRefused(
          () -> PythonDistributedSampler.inOrder((1L << 62) + 1, new Part(3, 0)),
          "without shuffle");
      assertRefused(() -> indices(new PythonDistributedSampler(10, new Part(3, 0)), -1), "epoch");
    }

    @Test
    void theLargestDatasetInOrderHasItsLastSampleOnTheLastRank() {
      long size = 1L << 62;
      try (Cursor cursor =
          PythonDistributedSampler.inOrder(size, new Part(1 << 20, (1 << 20) - 1)).epoch(0)) {
        cursor.seek(cursor.remaining() - 1);
        assertThat(Cursors.rest(cursor)).containsExactly(size - 1);
      }
    }

    @Test
    void anOrderThatExceedsTheHeapIsRefused() {
      assertThatIllegalStateException()
          .isThrownBy(() -> new PythonDistributedSampler(MAX_SIZE, new Part(3, 0)).epoch(0))
          .withMessageContaining("8589934556 bytes")
          .withMessageContaining("-Xmx");
    }
  }

  @Nested
  class Random {
    @Test
    void thePassesOfOneGeneratorAreEverySecondPermutation() {
      Sampler plan = new PythonRandomSampler(10, 42);
      assertThat(indices(plan, 0)).isEqualTo(parsed("2 6 1 8 4 5 0 9 3 7"));
      assertThat(indices(plan, 1)).isEqualTo(parsed("7 5 0 3 1 6 9 8 4 2"));
    }

    @Test
    void drawingMoreThanAllSamplesYieldsSeveralPermutations() {
      assertThat(indices(new PythonRandomSampler(10, false, 25, 42), 0))
          .isEqualTo(parsed("2 6 1 8 4 5 0 9 3 7 3 5 8 9 4 6 1 0 7 2 7 5 0 3 1"));
    }

    @Test
    void drawsWithReplacementMatchThePublishedOnes() {
      assertThat(indices(new PythonRandomSampler(10, true, 12, 7), 0))
          .isEqualTo(parsed("5 2 1 6 3 7 7 9 8 1 8 1"));
      assertThat(indices(new PythonRandomSampler(100, true, 37, 42), 0))
          .isEqualTo(
              parsed(
                  "42 67 76 14 26 35 20 24 50 13 78 14 10 54 31 72 15 95 67 6 49 76 73 11 99 13"
                      + " 41 69 87 19 72 80 75 29 33 64 39"));
    }

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        value = {
          "0|4 1 7 5 3 9 0 8 6 2",
          "1|5 6 1 2 0 8 9 3 7 4",
          "2|8 7 1 5 6 9 0 4 2 3",
          "3|6 0 3 7 8 5 1 9 2 4",
          "42|2 6 1 8 4 5 0 9 3 7",
          "-1|1 4 6 2 0 5 8 7 9 3",
        })
    void permutationsMatchThePublishedOnes(long seed, String expected) {
      assertThat(indices(new PythonRandomSampler(10, seed), 0)).isEqualTo(parsed(expected));
    }

    @Test
    void longPermutationsMatchThePublishedOnes() {
      long[] order = indices(new PythonRandomSampler(1_000_000, 0), 0);
      assertThat(Cursors.hash(order)).isEqualTo(-6523075623344306310L);
      assertThat(Arrays.copyOf(indices(new PythonRandomSampler(100, 0), 0), 12))
          .isEqualTo(parsed("44 19 93 90 71 69 37 95 53 91 81 42"));
    }

    @Test
    void drawsFromDatasetsLargerThanAnIntStayInRange() {
      long[] drawn = indices(new PythonRandomSampler(1L << 40, true, 1000, 0), 3);
      assertThat(LongStream.of(drawn)).allMatch(index -> index >= 0 && index < 1L << 40);
      assertThat(LongStream.of(drawn)).anyMatch(index -> index > Integer.MAX_VALUE);
    }

    @ParameterizedTest
    @EnumSource
    void anyEpochOpens(PythonGenerator.Use use) {
      Sampler plan = new PythonRandomSampler(10, 42).withGeneratorUse(use);
      assertThat(indices(plan, Long.MAX_VALUE)).containsExactlyInAnyOrder(indices(plan, 0));
      assertThat(indices(new PythonRandomSampler(1, 42), Long.MAX_VALUE)).containsExactly(0);
    }

    @Test
    void everyParameterDistinguishesPlans() {
      assertDistinct(
          new PythonRandomSampler(10, 42),
          new PythonRandomSampler(11, 42),
          new PythonRandomSampler(10, 43),
          new PythonRandomSampler(10, true, 10, 42),
          new PythonRandomSampler(10, false, 11, 42),
          new PythonRandomSampler(10, 42).withGeneratorUse(PythonGenerator.Use.LOADER),
          new PythonRandomSampler(10, 42).withGeneratorUse(PythonGenerator.Use.PROCESS_LOADER));
    }

    @Test
    void argumentsOutOfRangeAreRefused() {
      assertRefused(() -> new PythonRandomSampler(0, 1), "datasetSize", "[1, ", "got 0");
      assertRefused(
          () -> new PythonRandomSampler(MAX_SIZE + 1L, false, 5, 1),
          "[1, 2147483639] without replacement");
      for (long numSamples : new long[] {-1, 0, MAX_SIZE + 1L}) {
        assertRefused(
            () -> new PythonRandomSampler(10, true, numSamples, 1),
            "numSamples",
            "got " + numSamples);
      }
      assertRefused(() -> indices(new PythonRandomSampler(10, 1), -1), "epoch");
    }
  }

  @Nested
  class Subset {
    @Test
    void indicesFollowThePermutationsOfOneGenerator() {
      long[] indices = {100, 101, 102, 103, 104, 105, 106, 107, 108, 1L << 40};
      Sampler plan = new SubsetRandomSampler(indices, 42);
      assertThat(indices(plan, 0))
          .isEqualTo(parsed("102 106 101 108 104 105 100 1099511627776 103 107"));
      assertThat(indices(plan, 1))
          .isEqualTo(parsed("103 105 108 1099511627776 104 106 101 100 107 102"));
    }

    @Test
    void theArrayIsCopied() {
      long[] indices = {5};
      Sampler plan = new SubsetRandomSampler(indices, 0);
      indices[0] = 6;
      assertThat(indices(plan, 0)).containsExactly(5);
    }

    @Test
    void everyParameterDistinguishesPlans() {
      assertDistinct(
          new SubsetRandomSampler(new long[] {1, 2}, 0),
          new SubsetRandomSampler(new long[] {1, 2}, 1),
          new SubsetRandomSampler(new long[] {2, 1}, 0),
          new SubsetRandomSampler(new long[] {1, 1L << 40}, 0),
          new SubsetRandomSampler(new long[] {1, 2}, 0)
              .withGeneratorUse(PythonGenerator.Use.LOADER),
          new SubsetRandomSampler(new long[] {}, 0));
    }

    @Test
    void listsAreHashedInTheParameters() {
      Sampler plan = new SubsetRandomSampler(LongStream.range(0, 100_000).toArray(), 7);
      assertThat(plan.parameters().values().get("indices")).hasSize(16);
      assertThat(plan)
          .hasToString("SubsetRandomSampler[size=100000, seed=7, generatorUse=SAMPLER]");
    }

    @Test
    void negativeIndicesAndEpochsAreRefused() {
      assertRefused(() -> new SubsetRandomSampler(new long[] {0, -1}, 0), "-1 at position 1");
      assertRefused(() -> indices(new SubsetRandomSampler(new long[] {0}, 0), -1), "epoch");
    }
  }

  @Nested
  class Weighted {
    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        value = {
          "true|10|0|5 4 4 5 4 4 2 3 4 3",
          "true|10|1|1 2 2 2 4 1 4 4 4 4",
          "true|10|2|5 1 4 4 5 4 1 3 4 4",
          "true|5|42|1 1 1 1 4",
          "false|6|0|4 1 2 5 3 0",
          "false|6|1|5 4 3 1 0 2",
          "false|6|2|1 4 3 5 2 0",
          "false|5|42|1 3 4 2 0",
          "true|1|0|4",
          "true|1|1|5",
          "false|1|2|1",
          "false|1|42|1",
        })
    void drawsMatchThePublishedOnes(
        boolean replacement, int numSamples, long seed, String expected) {
      assertThat(indices(new WeightedRandomSampler(WEIGHTS, numSamples, replacement, seed), 0))
          .isEqualTo(parsed(expected));
    }

    @Test
    void replacementIsTheDefault() {
      assertThat(indices(new WeightedRandomSampler(new double[] {1, 2, 3, 4}, 8, 5), 0))
          .isEqualTo(parsed("3 1 2 2 1 3 2 3"));
    }

    @Test
    void zeroWeightsComeLastInIndexOrder() {
      double[] weights = {0, 0, Double.MIN_VALUE, 0, 1e300, 0};
      assertThat(indices(new WeightedRandomSampler(weights, 6, false, 3), 0))
          .isEqualTo(parsed("4 2 0 1 3 5"));
    }

    @Test
    void zeroWeightsComeAfterQuotientsThatRoundToZero() {
      double[] weights = new double[40];
      Arrays.fill(weights, 1, 39, Double.MIN_VALUE);
      long[] order = indices(new WeightedRandomSampler(weights, 40, false, 3), 0);
      assertThat(order).endsWith(0, 39);
    }

    @Test
    void zeroWeightsAreNeverDrawnWithReplacement() {
      double[] weights = {0, 1, 0, 2, 0};
      assertThat(indices(new WeightedRandomSampler(weights, 10_000, 1), 0)).containsOnly(1, 3);
    }

    @Test
    void theArrayIsCopied() {
      double[] weights = {0, 1};
      Sampler plan = new WeightedRandomSampler(weights, 1, 0);
      weights[0] = 1e9;
      assertThat(indices(plan, 0)).containsExactly(1);
      assertThat(weights).containsExactly(1e9, 1);
    }

    @ParameterizedTest
    @ValueSource(doubles = {-1, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY})
    void invalidWeightsAreRefused(double weight) {
      assertRefused(
          () -> new WeightedRandomSampler(new double[] {1, weight}, 1, 0),
          weight + " at position 1");
    }

    @Test
    void otherArgumentsOutOfRangeAreRefused() {
      assertRefused(() -> new WeightedRandomSampler(new double[3], 1, 0), "sum", "got 0.0");
      assertRefused(
          () -> new WeightedRandomSampler(new double[] {1e308, 1e308}, 1, 0), "sum", "Infinity");
      assertRefused(() -> new WeightedRandomSampler(new double[0], 1, 0), "[1, 16777216]", "got 0");
      assertRefused(
          () -> new WeightedRandomSampler(new double[(1 << 24) + 1], 1, 0), "got 16777217");
      assertRefused(() -> new WeightedRandomSampler(WEIGHTS, 0, 0), "numSamples", "got 0");
      assertRefused(
          () -> new WeightedRandomSampler(WEIGHTS, MAX_SIZE + 1L, 0), "numSamples", "2147483640");
      assertRefused(() -> new WeightedRandomSampler(WEIGHTS, 7, false, 0), "(6)", "got 7");
      assertRefused(() -> indices(new WeightedRandomSampler(WEIGHTS, 1, 0), -1), "epoch");
    }

    @Test
    void everyParameterDistinguishesPlans() {
      assertDistinct(
          new WeightedRandomSampler(WEIGHTS, 6, 0),
          new WeightedRandomSampler(WEIGHTS, 6, 1),
          new WeightedRandomSampler(WEIGHTS, 5, 0),
          new WeightedRandomSampler(WEIGHTS, 6, false, 0),
          new WeightedRandomSampler(WEIGHTS, 6, 0).withGeneratorUse(PythonGenerator.Use.LOADER),
          new WeightedRandomSampler(new double[] {0.1, 0.9, 0.4, 0.7, 3, 0.5}, 6, 0));
      assertThat(new WeightedRandomSampler(WEIGHTS, 6, 0))
          .hasToString(
              "WeightedRandomSampler[datasetSize=6, numSamples=6, replacement=true, seed=0, generatorUse=SAMPLER]");
    }
  }

  @Nested
  class Split {
    @Test
    void partsAreSlicesOfThePermutation() {
      assertThat(RandomSplit.byLengths(new long[] {3, 7}, 1))
          .containsExactly(parsed("5 6 1"), parsed("2 0 8 9 3 7 4"));
    }

    @Test
    void leftoversOfFractionsGoToTheFirstParts() {
      assertThat(RandomSplit.byFractions(106, new double[] {.1, .2, .3, .4}, 0))
          .extracting(part -> part.length)
          .containsExactly(11, 22, 31, 42);
    }

    @Test
    void anEmptyDatasetHasEmptyParts() {
      assertThat(RandomSplit.byFractions(0, new double[] {0.5, 0.5}, 0))
          .containsExactly(new long[0], new long[0]);
      assertThat(RandomSplit.byLengths(new long[0], 0)).isEmpty();
    }

    @Test
    void fractionsRoundedAboveOneSplitTheWholeDataset() {
      double[] fractions = {0.2, 0.2, 0.2, 0.2, 0.1, 0.1, 4e-10};
      assertThat(RandomSplit.byFractions(1000, fractions, 0).stream().mapToInt(p -> p.length).sum())
          .isEqualTo(1000);
    }

    @Test
    void argumentsOutOfRangeAreRefused() {
      assertRefused(() -> RandomSplit.byLengths(new long[] {3, -1}, 0), "-1 at position 1");
      assertRefused(
          () -> RandomSplit.byLengths(new long[] {5, MAX_SIZE - 4}, 0), "2147483635 at position 1");
      assertRefused(
          () -> RandomSplit.byLengths(new long[] {5, Long.MAX_VALUE}, 0), "at position 1");
      assertRefused(() -> RandomSplit.byFractions(-1, new double[] {1}, 0), "datasetSize");
      assertRefused(
          () -> RandomSplit.byFractions(MAX_SIZE + 1L, new double[] {1}, 0), "datasetSize");
      assertRefused(() -> RandomSplit.byFractions(9, new double[] {1.5, -0.5}, 0), "1.5");
      assertRefused(() -> RandomSplit.byFractions(9, new double[] {Double.NaN}, 0), "NaN");
      assertRefused(() -> RandomSplit.byFractions(9, new double[] {0.5, 0.4}, 0), "sum to 1");
      assertRefused(() -> RandomSplit.byFractions(9, new double[] {}, 0), "sum to 1");
    }
  }

  @Nested
  class Batches {
    private static final Sampler TEN = new PythonRandomSampler(10, 42);

    @Test
    void batchesAreGroupsOfTheOrder() {
      long[] into = new long[5];
      try (BatchCursor cursor = new FixedSizeBatchSampler(TEN, 4).epoch(0)) {
        assertThat(cursor.next(into, 1)).isEqualTo(4);
        assertThat(into).containsExactly(0, 2, 6, 1, 8);
        cursor.seek(2);
        assertThat(cursor.next(into, 0)).isEqualTo(2);
        assertThat(into).startsWith(3, 7);
        assertThat(cursor.position()).isEqualTo(3);
        assertThat(cursor.next(into, 5)).isZero();
      }
    }

    @Test
    void aBatchThatDoesNotFitDoesNotMoveTheCursor() {
      try (BatchCursor cursor = new FixedSizeBatchSampler(TEN, 4).epoch(0)) {
        assertThatExceptionOfType(IndexOutOfBoundsException.class)
            .isThrownBy(() -> cursor.next(new long[4], 1));
        assertThat(cursor.position()).isZero();
      }
    }

    @Test
    void anIncompleteLastBatchIsDroppedOnRequest() {
      var plan = new FixedSizeBatchSampler(TEN, 4, true);
      assertThat(plan.batches(5)).isEqualTo(2);
      try (BatchCursor cursor = plan.epoch(0)) {
        cursor.seek(2);
        assertThat(cursor.remaining()).isZero();
        assertThat(cursor.next(new long[4], 0)).isZero();
        assertThatIllegalArgumentException()
            .isThrownBy(() -> cursor.seek(3))
            .withMessageContaining("[0, 2]");
        assertThatIllegalArgumentException().isThrownBy(() -> cursor.seek(-1));
      }
    }

    @Test
    void theLargestBatchIsNoLongerThanTheOrder() {
      assertThat(new FixedSizeBatchSampler(TEN, 4).maxBatchSize()).isEqualTo(4);
      assertThat(new FixedSizeBatchSampler(TEN, Integer.MAX_VALUE).maxBatchSize()).isEqualTo(10);
      assertThat(new FixedSizeBatchSampler(new SequentialSampler(0), 4).maxBatchSize())
          .isEqualTo(1);
    }

    @Test
    void batchesReportWhichIndicesArePadding() {
      try (BatchCursor cursor =
          new FixedSizeBatchSampler(new PythonDistributedSampler(10, new Part(3, 2)), 3).epoch(0)) {
        assertThat(cursor.isPadding(0, 2)).isFalse();
        assertThat(cursor.isPadding(1, 0)).isTrue();
        assertThatExceptionOfType(IndexOutOfBoundsException.class)
            .isThrownBy(() -> cursor.isPadding(1, 1));
        assertThatExceptionOfType(IndexOutOfBoundsException.class)
            .isThrownBy(() -> cursor.isPadding(2, 0));
      }
    }

    @Test
    void aClosedCursorIsRefused() {
      BatchCursor cursor = new FixedSizeBatchSampler(TEN, 4).epoch(0);
      cursor.close();
      cursor.close();
      assertThatIllegalStateException().isThrownBy(() -> cursor.next(new long[4], 0));
      assertThatIllegalStateException().isThrownBy(cursor::position);
      assertThatIllegalStateException().isThrownBy(cursor::remaining);
      assertThatIllegalStateException().isThrownBy(() -> cursor.seek(0));
      assertThatIllegalStateException().isThrownBy(() -> cursor.isPadding(0, 0));
    }

    @Test
    void everyParameterDistinguishesPlans() {
      Set<String> digests = new HashSet<>();
      digests.add(TEN.digest());
      digests.add(new FixedSizeBatchSampler(TEN, 4).digest());
      digests.add(new FixedSizeBatchSampler(TEN, 5).digest());
      digests.add(new FixedSizeBatchSampler(TEN, 4, true).digest());
      digests.add(new FixedSizeBatchSampler(new PythonRandomSampler(10, 43), 4).digest());
      assertThat(digests).hasSize(5);
    }

    @Test
    void argumentsOutOfRangeAreRefused() {
      assertRefused(() -> new FixedSizeBatchSampler(TEN, 0), "batchSize", "got 0");
      assertRefused(() -> new FixedSizeBatchSampler(TEN, 4).batches(-1), "epoch");
      assertRefused(() -> new FixedSizeBatchSampler(TEN, 4).epoch(-1), "epoch");
    }
  }

  @Test
  void theDefaultGeneratorUseIsOmittedFromTheParameters() {
    assertThat(new PythonRandomSampler(10, 42).parameters().values())
        .containsOnlyKeys("datasetSize", "replacement", "numSamples", "seed");
    for (Sampler plan :
        List.of(
            new SubsetRandomSampler(new long[] {1, 2}, 0)
                .withGeneratorUse(PythonGenerator.Use.LOADER)
                .withGeneratorUse(PythonGenerator.Use.SAMPLER),
            new WeightedRandomSampler(WEIGHTS, 6, 0)
                .withGeneratorUse(PythonGenerator.Use.LOADER)
                .withGeneratorUse(PythonGenerator.Use.SAMPLER))) {
      assertThat(plan.parameters().values()).doesNotContainKey("generatorUse");
    }
  }

  private static void assertRefused(Runnable call, String... parts) {
    assertThatIllegalArgumentException()
        .isThrownBy(call::run)
        .satisfies(e -> assertThat(e.getMessage()).contains(parts));
  }

  private static void assertDistinct(Sampler... plans) {
    assertThat(Arrays.stream(plans).map(Sampler::digest).distinct()).hasSize(plans.length);
  }
}
