// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongFunction;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests of the permutation's randomness: fixed keys, and bounds of four to five standard
 * deviations.
 *
 * <p>With up to five rounds the network fails these tests, first in the successions.
 */
class SeekablePermutationStatisticsTest {
  private static final int KEYS = 600;
  private static final Map<Integer, Passes> PASSES = new ConcurrentHashMap<>();

  @ParameterizedTest
  @ValueSource(
      longs = {4097, 5000, 65_537, 1_000_003, 1_000_000_000, 1L << 47, (1L << 47) + 1, 1L << 62})
  void eachPositionIsUniformOverSeedsAndEpochs(long n) {
    for (long index : new long[] {0, 1, 2, n / 3, n / 2, n - 2, n - 1}) {
      double overSeeds = deviation(n, index, seed -> SeekablePermutation.of(n, seed, 0));
      double overEpochs = deviation(n, index, epoch -> SeekablePermutation.of(n, 7, epoch));
      assertThat(overSeeds).as("index %d", index).isBetween(-5.0, 5.0);
      assertThat(overEpochs).as("index %d", index).isBetween(-5.0, 5.0);
    }
  }

  @ParameterizedTest
  @ValueSource(
      longs = {4097, 5000, 65_537, 1_000_003, 1_000_000_000, 1L << 47, (1L << 47) + 1, 1L << 62})
  void theFirstTwoPositionsAreIndependent(long n) {
    Bins bins = new Bins(n, 16);
    long[] counts = new long[256];
    for (int seed = 0; seed < 80_000; seed++) {
      var permutation = SeekablePermutation.of(n, seed, 0);
      counts[16 * bins.of(permutation.at(0)) + bins.of(permutation.at(1))]++;
    }
    double chiSquare = 0;
    for (int pair = 0; pair < 256; pair++) {
      double expected = 80_000 * bins.share(pair / 16) * bins.share(pair % 16);
      chiSquare += square(counts[pair] - expected) / expected;
    }
    assertThat(standardized(chiSquare, 255)).isBetween(-5.0, 5.0);
  }

  @ParameterizedTest
  @ValueSource(ints = {5000, 10_007, 65_536, 65_537})
  void fixedPointsSuccessionsAndAgreementsOccurAsOftenAsByChance(int n) {
    Passes passes = passes(n);
    assertThat(passes.fixedPoints / KEYS).as("fixed points").isEqualTo(1, within(0.17));
    assertThat(passes.epochAgreements / KEYS).as("next epoch").isEqualTo(1, within(0.17));
    assertThat(passes.seedAgreements / KEYS).as("next seed").isEqualTo(1, within(0.17));
    passes.translations.forEach(
        (distance, count) -> {
          double expected = square((n - distance) / (double) n);
          assertThat(count / KEYS).as("i+%d", distance).isEqualTo(expected, within(0.17));
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {5000, 10_007, 65_536, 65_537})
  void descentsVaryAsByChance(int n) {
    Passes passes = passes(n);
    assertThat(passes.descents / Math.sqrt(KEYS)).isBetween(-5.0, 5.0);
    assertThat(passes.descentsSquared / KEYS).isEqualTo(1, within(0.25));
  }

  @ParameterizedTest
  @ValueSource(ints = {5000, 10_007, 65_536, 65_537})
  void neighboursAreNotCorrelated(int n) {
    Passes passes = passes(n);
    assertThat(passes.correlations / Math.sqrt(KEYS)).isBetween(-5.0, 5.0);
    assertThat(passes.correlationsSquared / KEYS).isEqualTo(1, within(0.25));
  }

  @ParameterizedTest
  @ValueSource(ints = {5000, 10_007, 65_536, 65_537})
  void batchesSpreadOverTheValuesAsByChance(int n) {
    int keys = 24_000_000 / n; // so that 1 % is at least four standard deviations
    double mean = 0;
    for (int seed = 0; seed < keys; seed++) {
      mean += meanChiSquareOfBatches(n, values(n, seed, 5)) / keys;
    }
    double expected = 15.0 * (n - 256) / (n - 1);
    assertThat(mean / expected).isEqualTo(1, within(0.01));
  }

  @Test
  void allPermutationsOfFourNumbersAreEquallyLikely() {
    assertThat(chiSquareOfFour(seed -> SeekablePermutation.of(4, seed, 0))).isLessThan(60);
    assertThat(chiSquareOfFour(epoch -> SeekablePermutation.of(4, 7, epoch))).isLessThan(60);
  }

  private static long[] values(int n, long seed, long epoch) {
    long[] values = new long[n];
    SeekablePermutation.of(n, seed, epoch).at(0, 1, values, 0, n);
    return values;
  }

  private static double meanChiSquareOfBatches(int n, long[] values) {
    Bins bins = new Bins(n, 16);
    int batches = n / 256;
    double sum = 0;
    for (int batch = 0; batch < batches; batch++) {
      long[] counts = new long[16];
      for (int i = 0; i < 256; i++) {
        counts[bins.of(values[256 * batch + i])]++;
      }
      sum += bins.chiSquare(counts, 256);
    }
    return sum / batches;
  }

  private static double deviation(long n, long index, LongFunction<SeekablePermutation> keyed) {
    Bins bins = new Bins(n, 64);
    long[] counts = new long[64];
    for (int key = 0; key < 20_000; key++) {
      counts[bins.of(keyed.apply(key).at(index))]++;
    }
    return standardized(bins.chiSquare(counts, 20_000), 63);
  }

  private static double chiSquareOfFour(LongFunction<SeekablePermutation> keyed) {
    long[] counts = new long[256];
    for (int key = 0; key < 24_000; key++) {
      var permutation = keyed.apply(key);
      int word = 0;
      for (int i = 0; i < 4; i++) {
        word = 4 * word + (int) permutation.at(i);
      }
      counts[word]++;
    }
    double chiSquare = 0;
    for (long count : counts) { // 232 of the words are not permutations, and none of them occurs
      chiSquare += count == 0 ? 0 : square(count - 1000.0) / 1000;
    }
    return chiSquare;
  }

  private static double standardized(double chiSquare, int degrees) {
    return (chiSquare - degrees) / Math.sqrt(2.0 * degrees);
  }

  private static double square(double number) {
    return number * number;
  }

  private static Passes passes(int n) {
    return PASSES.computeIfAbsent(n, Passes::new);
  }

  /** Equal parts of the numbers below n; the last part is the remainder. */
  private record Bins(long n, int count) {
    private long width() {
      return (n - 1) / count + 1;
    }

    int of(long value) {
      return (int) (value / width());
    }

    double share(int bin) {
      return Math.min(width(), n - bin * width()) / (double) n;
    }

    double chiSquare(long[] counts, int draws) {
      double chiSquare = 0;
      for (int bin = 0; bin < count; bin++) {
        double expected = draws * share(bin);
        chiSquare += square(counts[bin] - expected) / expected;
      }
      return chiSquare;
    }
  }

  /** Sums over the complete permutations of many keys. */
  private static final class Passes {
    private final int n;
    final Map<Integer, Double> translations = new ConcurrentHashMap<>();
    double fixedPoints;
    double epochAgreements;
    double seedAgreements;
    double descents;
    double descentsSquared;
    double correlations;
    double correlationsSquared;

    Passes(int n) {
      this.n = n;
      long[] identity = LongStream.range(0, n).toArray();
      long[] next = values(n, 0, 5);
      for (int seed = 0; seed < KEYS; seed++) {
        long[] values = next;
        next = values(n, seed + 1, 5);
        fixedPoints += agreements(values, identity);
        epochAgreements += agreements(values, values(n, seed, 6));
        seedAgreements += agreements(values, next);
        for (int distance : new int[] {1, 2, 32, 64, 128, 192, 256, 257}) {
          translations.merge(distance, translations(values, distance), Double::sum);
        }
        addDescents(values);
        addCorrelation(values);
      }
    }

    private double agreements(long[] values, long[] others) {
      int count = 0;
      for (int i = 0; i < n; i++) {
        count += values[i] == others[i] ? 1 : 0;
      }
      return count;
    }

    private double translations(long[] values, int distance) {
      int count = 0;
      for (int i = distance; i < n; i++) {
        count += values[i] - values[i - distance] == distance ? 1 : 0;
      }
      return count;
    }

    private void addDescents(long[] values) {
      int count = 0;
      for (int i = 1; i < n; i++) {
        count += values[i] < values[i - 1] ? 1 : 0;
      }
      double deviation = (count - (n - 1) / 2.0) / Math.sqrt((n + 1) / 12.0);
      descents += deviation;
      descentsSquared += square(deviation);
    }

    private void addCorrelation(long[] values) {
      double mean = (n - 1) / 2.0;
      double products = 0;
      for (int i = 1; i < n; i++) {
        products += (values[i] - mean) * (values[i - 1] - mean);
      }
      double squares = n * (square(n) - 1) / 12;
      double deviation = (products / squares + 1.0 / n) * Math.sqrt(n);
      correlations += deviation;
      correlationsSquared += square(deviation);
    }
  }
}
