// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A dataset split at random into parts, as PyTorch's {@code random_split} does, bit for bit.
 *
 * <p>Source: torch 2.10.0, {@code torch/utils/data/dataset.py} and {@code randperm} on the CPU with
 * a generator that was seeded right before, in pure Java; golden/python_samplers.py. The parts are
 * consecutive pieces of one permutation. A part can be the dataset of a {@link
 * SubsetRandomSampler}:
 *
 * <pre>{@code
 * List<long[]> parts = RandomSplit.byFractions(50_000, new double[] {0.9, 0.1}, 42);
 * Sampler training = new SubsetRandomSampler(parts.get(0), 42);
 * }</pre>
 *
 * <p>Datasets have at most 2147483639 samples. A split takes 12 bytes for each of them and one
 * shuffle. Any thread may call.
 */
public final class RandomSplit {
  private RandomSplit() {}

  /**
   * Splits into parts of given lengths.
   *
   * @param lengths number of samples in each part, each at least 0; their sum is the size of the
   *     dataset
   * @param seed the seed of the generator, any number; its low 32 bits count
   * @return the dataset indices of each part, int64
   * @throws IllegalArgumentException if a length is negative or the dataset too large
   */
  public static List<long[]> byLengths(long[] lengths, long seed) {
    long sum = 0;
    for (int i = 0; i < lengths.length; i++) {
      if (lengths[i] < 0 || lengths[i] > IndexList.LONGEST - sum) {
        throw new IllegalArgumentException(
            "lengths must be at least 0 and sum to %d at most, got %d at position %d after a sum of %d"
                .formatted(IndexList.LONGEST, lengths[i], i, sum));
      }
      sum += lengths[i];
    }
    return cut(lengths, (int) sum, seed);
  }

  /**
   * Splits into parts of given shares: of each the whole samples, and then the samples that are
   * left over, one each for the first parts.
   *
   * @param datasetSize number of samples in the dataset, in [0, 2147483639]
   * @param fractions the share of each part, in [0, 1]; their sum misses 1 by 10<sup>-9</sup> at
   *     most
   * @param seed the seed of the generator, any number; its low 32 bits count
   * @return the dataset indices of each part, int64
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public static List<long[]> byFractions(long datasetSize, double[] fractions, long seed) {
    if (datasetSize < 0 || datasetSize > IndexList.LONGEST) {
      throw new IllegalArgumentException(
          "datasetSize must be in [0, %d], got %d".formatted(IndexList.LONGEST, datasetSize));
    }
    long[] lengths = PartLengths.ofFractions((int) datasetSize, fractions);
    return cut(lengths, (int) datasetSize, seed);
  }

  private static List<long[]> cut(long[] lengths, int datasetSize, long seed) {
    int[] order = IndexList.ints("a random split", datasetSize);
    Randperm.write(new Mt19937(seed), datasetSize, order, 0, datasetSize);
    List<long[]> parts = new ArrayList<>();
    int start = 0;
    for (long length : lengths) {
      int end = start + (int) length;
      parts.add(Arrays.stream(order, start, end).asLongStream().toArray());
      start = end;
    }
    return parts;
  }
}
