// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import static io.torchfeed.sampler.python.PlanAssertions.assertDistinct;
import static io.torchfeed.sampler.python.PlanAssertions.assertRefused;
import static io.torchfeed.sampler.python.PlanAssertions.parsed;
import static io.torchfeed.testing.Cursors.indices;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.sampler.Sampler;
import io.torchfeed.testing.Cursors;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the plans of Python's samplers of a whole dataset: published vectors, arguments. */
class PythonSamplersTest {
  private static final double[] WEIGHTS = {0.1, 0.9, 0.4, 0.7, 3, 0.6};
  private static final int MAX_SIZE = 2_147_483_639;

  @Nested
  class Random {
    @Test
    void thePassesOfOneGeneratorAreEverySecondPermutation() {
      Sampler plan = PythonRandomSampler.of(10, 42);
      assertThat(indices(plan, 0)).isEqualTo(parsed("2 6 1 8 4 5 0 9 3 7"));
      assertThat(indices(plan, 1)).isEqualTo(parsed("7 5 0 3 1 6 9 8 4 2"));
    }

    @Test
    void drawingMoreThanAllSamplesYieldsSeveralPermutations() {
      assertThat(indices(PythonRandomSampler.of(10, 42).withNumSamples(25), 0))
          .isEqualTo(parsed("2 6 1 8 4 5 0 9 3 7 3 5 8 9 4 6 1 0 7 2 7 5 0 3 1"));
    }

    @Test
    void drawsWithReplacementMatchThePublishedOnes() {
      assertThat(indices(PythonRandomSampler.of(10, 7).withReplacement(true).withNumSamples(12), 0))
          .isEqualTo(parsed("5 2 1 6 3 7 7 9 8 1 8 1"));
      assertThat(
              indices(PythonRandomSampler.of(100, 42).withReplacement(true).withNumSamples(37), 0))
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
      assertThat(indices(PythonRandomSampler.of(10, seed), 0)).isEqualTo(parsed(expected));
    }

    @Test
    void longPermutationsMatchThePublishedOnes() {
      long[] order = indices(PythonRandomSampler.of(1_000_000, 0), 0);
      assertThat(Cursors.hash(order)).isEqualTo(-6523075623344306310L);
      assertThat(Arrays.copyOf(indices(PythonRandomSampler.of(100, 0), 0), 12))
          .isEqualTo(parsed("44 19 93 90 71 69 37 95 53 91 81 42"));
    }

    @Test
    void drawsFromDatasetsLargerThanAnIntStayInRange() {
      long[] drawn =
          indices(new PythonRandomSampler(1L << 40, true, 1000, 0, PythonGenerator.Use.SAMPLER), 3);
      assertThat(LongStream.of(drawn)).allMatch(index -> index >= 0 && index < 1L << 40);
      assertThat(LongStream.of(drawn)).anyMatch(index -> index > Integer.MAX_VALUE);
    }

    @ParameterizedTest
    @EnumSource
    void anyEpochOpens(PythonGenerator.Use use) {
      Sampler plan = PythonRandomSampler.of(10, 42).withGeneratorUse(use);
      assertThat(indices(plan, Long.MAX_VALUE)).containsExactlyInAnyOrder(indices(plan, 0));
      assertThat(indices(PythonRandomSampler.of(1, 42), Long.MAX_VALUE)).containsExactly(0);
    }

    @Test
    void everyParameterDistinguishesPlans() {
      assertDistinct(
          PythonRandomSampler.of(10, 42),
          PythonRandomSampler.of(11, 42),
          PythonRandomSampler.of(10, 43),
          PythonRandomSampler.of(10, 42).withReplacement(true).withNumSamples(10),
          PythonRandomSampler.of(10, 42).withNumSamples(11),
          PythonRandomSampler.of(10, 42).withGeneratorUse(PythonGenerator.Use.LOADER),
          PythonRandomSampler.of(10, 42).withGeneratorUse(PythonGenerator.Use.PROCESS_LOADER));
    }

    @Test
    void argumentsOutOfRangeAreRefused() {
      assertRefused(() -> PythonRandomSampler.of(0, 1), "datasetSize", "[1, ", "got 0");
      assertRefused(
          () -> PythonRandomSampler.of(MAX_SIZE + 1L, 1).withNumSamples(5),
          "[1, 2147483639] without replacement");
      for (long numSamples : new long[] {-1, 0, MAX_SIZE + 1L}) {
        assertRefused(
            () -> PythonRandomSampler.of(10, 1).withReplacement(true).withNumSamples(numSamples),
            "numSamples",
            "got " + numSamples);
      }
      assertRefused(() -> indices(PythonRandomSampler.of(10, 1), -1), "epoch");
    }
  }

  @Nested
  class Subset {
    @Test
    void indicesFollowThePermutationsOfOneGenerator() {
      long[] indices = {100, 101, 102, 103, 104, 105, 106, 107, 108, 1L << 40};
      Sampler plan = SubsetRandomSampler.of(indices, 42);
      assertThat(indices(plan, 0))
          .isEqualTo(parsed("102 106 101 108 104 105 100 1099511627776 103 107"));
      assertThat(indices(plan, 1))
          .isEqualTo(parsed("103 105 108 1099511627776 104 106 101 100 107 102"));
    }

    @Test
    void theArrayIsCopied() {
      long[] indices = {5};
      Sampler plan = SubsetRandomSampler.of(indices, 0);
      indices[0] = 6;
      assertThat(indices(plan, 0)).containsExactly(5);
    }

    @Test
    void everyParameterDistinguishesPlans() {
      assertDistinct(
          SubsetRandomSampler.of(new long[] {1, 2}, 0),
          SubsetRandomSampler.of(new long[] {1, 2}, 1),
          SubsetRandomSampler.of(new long[] {2, 1}, 0),
          SubsetRandomSampler.of(new long[] {1, 1L << 40}, 0),
          SubsetRandomSampler.of(new long[] {1, 2}, 0).withGeneratorUse(PythonGenerator.Use.LOADER),
          SubsetRandomSampler.of(new long[] {}, 0));
    }

    @Test
    void listsAreHashedInTheParameters() {
      Sampler plan = SubsetRandomSampler.of(LongStream.range(0, 100_000).toArray(), 7);
      assertThat(plan.parameters().values().get("indices")).hasSize(16);
      assertThat(plan)
          .hasToString("SubsetRandomSampler[size=100000, seed=7, generatorUse=SAMPLER]");
    }

    @Test
    void negativeIndicesAndEpochsAreRefused() {
      assertRefused(() -> SubsetRandomSampler.of(new long[] {0, -1}, 0), "-1 at position 1");
      assertRefused(() -> indices(SubsetRandomSampler.of(new long[] {0}, 0), -1), "epoch");
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
      assertThat(
              indices(
                  WeightedRandomSampler.of(WEIGHTS, numSamples, seed).withReplacement(replacement),
                  0))
          .isEqualTo(parsed(expected));
    }

    @Test
    void replacementIsTheDefault() {
      assertThat(indices(WeightedRandomSampler.of(new double[] {1, 2, 3, 4}, 8, 5), 0))
          .isEqualTo(parsed("3 1 2 2 1 3 2 3"));
    }

    @Test
    void zeroWeightsComeLastInIndexOrder() {
      double[] weights = {0, 0, Double.MIN_VALUE, 0, 1e300, 0};
      assertThat(indices(WeightedRandomSampler.of(weights, 6, 3).withReplacement(false), 0))
          .isEqualTo(parsed("4 2 0 1 3 5"));
    }

    @Test
    void zeroWeightsComeAfterQuotientsThatRoundToZero() {
      double[] weights = new double[40];
      Arrays.fill(weights, 1, 39, Double.MIN_VALUE);
      long[] order = indices(WeightedRandomSampler.of(weights, 40, 3).withReplacement(false), 0);
      assertThat(order).endsWith(0, 39);
    }

    @Test
    void zeroWeightsAreNeverDrawnWithReplacement() {
      double[] weights = {0, 1, 0, 2, 0};
      assertThat(indices(WeightedRandomSampler.of(weights, 10_000, 1), 0)).containsOnly(1, 3);
    }

    @Test
    void theArrayIsCopied() {
      double[] weights = {0, 1};
      Sampler plan = WeightedRandomSampler.of(weights, 1, 0);
      weights[0] = 1e9;
      assertThat(indices(plan, 0)).containsExactly(1);
      assertThat(weights).containsExactly(1e9, 1);
    }

    @ParameterizedTest
    @ValueSource(doubles = {-1, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY})
    void invalidWeightsAreRefused(double weight) {
      assertRefused(
          () -> WeightedRandomSampler.of(new double[] {1, weight}, 1, 0),
          weight + " at position 1");
    }

    @Test
    void otherArgumentsOutOfRangeAreRefused() {
      assertRefused(() -> WeightedRandomSampler.of(new double[3], 1, 0), "sum", "got 0.0");
      assertRefused(
          () -> WeightedRandomSampler.of(new double[] {1e308, 1e308}, 1, 0), "sum", "Infinity");
      assertRefused(() -> WeightedRandomSampler.of(new double[0], 1, 0), "[1, 16777216]", "got 0");
      assertRefused(
          () -> WeightedRandomSampler.of(new double[(1 << 24) + 1], 1, 0), "got 16777217");
      assertRefused(() -> WeightedRandomSampler.of(WEIGHTS, 0, 0), "numSamples", "got 0");
      assertRefused(
          () -> WeightedRandomSampler.of(WEIGHTS, MAX_SIZE + 1L, 0), "numSamples", "2147483640");
      assertRefused(
          () -> WeightedRandomSampler.of(WEIGHTS, 7, 0).withReplacement(false), "(6)", "got 7");
      assertRefused(() -> indices(WeightedRandomSampler.of(WEIGHTS, 1, 0), -1), "epoch");
    }

    @Test
    void everyParameterDistinguishesPlans() {
      assertDistinct(
          WeightedRandomSampler.of(WEIGHTS, 6, 0),
          WeightedRandomSampler.of(WEIGHTS, 6, 1),
          WeightedRandomSampler.of(WEIGHTS, 5, 0),
          WeightedRandomSampler.of(WEIGHTS, 6, 0).withReplacement(false),
          WeightedRandomSampler.of(WEIGHTS, 6, 0).withGeneratorUse(PythonGenerator.Use.LOADER),
          WeightedRandomSampler.of(new double[] {0.1, 0.9, 0.4, 0.7, 3, 0.5}, 6, 0));
      assertThat(WeightedRandomSampler.of(WEIGHTS, 6, 0))
          .hasToString(
              "WeightedRandomSampler[datasetSize=6, numSamples=6, replacement=true, seed=0, generatorUse=SAMPLER]");
    }
  }

  @Test
  void theDefaultGeneratorUseIsOmittedFromTheParameters() {
    assertThat(PythonRandomSampler.of(10, 42).parameters().values())
        .containsOnlyKeys("datasetSize", "replacement", "numSamples", "seed");
    for (Sampler plan :
        List.of(
            SubsetRandomSampler.of(new long[] {1, 2}, 0)
                .withGeneratorUse(PythonGenerator.Use.LOADER)
                .withGeneratorUse(PythonGenerator.Use.SAMPLER),
            WeightedRandomSampler.of(WEIGHTS, 6, 0)
                .withGeneratorUse(PythonGenerator.Use.LOADER)
                .withGeneratorUse(PythonGenerator.Use.SAMPLER))) {
      assertThat(plan.parameters().values()).doesNotContainKey("generatorUse");
    }
  }
}
