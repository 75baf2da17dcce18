// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.split;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.CounterRandom;
import io.torchfeed.internal.PartLengths;
import io.torchfeed.sampler.order.SeekablePermutation;
import java.util.List;

/**
 * A random split of a dataset into parts in which each stratum (class, source, length) has the same
 * share as in the whole.
 *
 * <p>Parts have exactly the requested lengths, and a part of L of the n samples has L·m/n samples
 * of a stratum of m, rounded up or down; controlled rounding achieves both at once. The samples of
 * each stratum are drawn by {@link SeekablePermutation}, so the result depends on the arguments
 * alone, not on the machine. Parts are ascending lists for {@link
 * io.torchfeed.sampler.order.ListSampler}.
 *
 * <p>Source of the rounding: M. Bacharach, Matrix rounding problems, Management Science 12(9),
 * 1966; here cycle by cycle, in integers. Takes O(n log n) for n samples, and O(p<sup>3</sup>) per
 * stratum for p parts. Thread-safe.
 */
public final class StratifiedSplit {
  private StratifiedSplit() {}

  /**
   * Splits into parts of given lengths.
   *
   * @param stratumOfSample the stratum of each sample, any values
   * @param lengths number of samples in each part, each at least 0; their sum is the size of the
   *     dataset
   * @param seed any value
   * @return the dataset indices of each part, int64, ascending
   * @throws IllegalArgumentException if a length is negative or the sum is not the size of the
   *     dataset
   */
  public static List<long[]> byLengths(long[] stratumOfSample, long[] lengths, long seed) {
    requireNonNull(lengths, "lengths");
    requireNonNull(stratumOfSample, "stratumOfSample");
    return split(stratumOfSample, PartLengths.checked(stratumOfSample.length, lengths), seed);
  }

  /**
   * Splits into parts of given shares: each is rounded down to whole samples, and the samples left
   * over go one each to the first parts.
   *
   * @param stratumOfSample the stratum of each sample, any values
   * @param fractions the share of each part, in [0, 1]; their sum differs from 1 by at most
   *     10<sup>-9</sup>
   * @param seed any value
   * @return the dataset indices of each part, int64, ascending
   * @throws IllegalArgumentException if the fractions are out of range
   */
  public static List<long[]> byFractions(long[] stratumOfSample, double[] fractions, long seed) {
    requireNonNull(fractions, "fractions");
    requireNonNull(stratumOfSample, "stratumOfSample");
    return split(stratumOfSample, PartLengths.ofFractions(stratumOfSample.length, fractions), seed);
  }

  private static List<long[]> split(long[] stratumOfSample, long[] lengths, long seed) {
    SampleGroups strata = new SampleGroups(stratumOfSample);
    ControlledRounding rounding = new ControlledRounding(lengths);
    long[][] counts = new long[strata.count()][];
    for (int stratum = 0; stratum < counts.length; stratum++) {
      counts[stratum] = rounding.add(strata.length(stratum));
    }
    int[] partOfSample = new int[stratumOfSample.length];
    for (int stratum = 0; stratum < counts.length; stratum++) {
      assign(strata, stratum, counts[stratum], seed, partOfSample);
    }
    return SampleGroups.parts(partOfSample, lengths.length);
  }

  private static void assign(
      SampleGroups strata, int stratum, long[] counts, long seed, int[] partOfSample) {
    long streamSeed = CounterRandom.seedOf(seed, stratum);
    SeekablePermutation order = SeekablePermutation.of(strata.length(stratum), streamSeed, 0);
    long position = 0;
    for (int part = 0; part < counts.length; part++) {
      for (long end = position + counts[part]; position < end; position++) {
        partOfSample[strata.sample(stratum, order.at(position))] = part;
      }
    }
  }
}
