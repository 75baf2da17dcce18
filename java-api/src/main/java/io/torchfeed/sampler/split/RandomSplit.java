// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.split;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.HeapMemory;
import io.torchfeed.internal.IndexList;
import io.torchfeed.internal.PartLengths;
import io.torchfeed.sampler.python.PythonGenerator;
import java.util.ArrayList;
import java.util.List;

/**
 * A random split of a dataset into parts that equals PyTorch's {@code random_split} bit for bit.
 *
 * <p>Source: torch 2.10.0, {@code torch/utils/data/dataset.py} and {@code randperm} on the CPU with
 * a newly seeded generator, in pure Java; golden/python_samplers.py. The parts are consecutive
 * pieces of one permutation. A part can serve as the indices of a {@link
 * io.torchfeed.sampler.python.SubsetRandomSampler}:
 *
 * <pre>{@code
 * List<long[]> parts = RandomSplit.byFractions(50_000, new double[] {0.9, 0.1}, 42);
 * Sampler training = SubsetRandomSampler.of(parts.get(0), 42);
 * }</pre>
 *
 * <p>Datasets have at most 2147483639 samples. A split takes 12 bytes per sample and one shuffle.
 * Thread-safe.
 */
public final class RandomSplit {
  private RandomSplit() {}

  /**
   * Splits into parts of given lengths.
   *
   * @param lengths number of samples in each part, each at least 0; their sum is the size of the
   *     dataset
   * @param seed the seed of the generator, any number; only its low 32 bits are used
   * @return the dataset indices of each part, int64
   * @throws IllegalArgumentException if a length is negative or the dataset is too large
   * @throws IllegalStateException if the Java heap is too small for the parts
   */
  public static List<long[]> byLengths(long[] lengths, long seed) {
    requireNonNull(lengths, "lengths");
    long sum = 0;
    for (int i = 0; i < lengths.length; i++) {
      if (lengths[i] < 0 || lengths[i] > IndexList.MAX_SIZE - sum) {
        throw new IllegalArgumentException(
            "lengths must be at least 0 and sum to at most %d, got %d at position %d after a sum of %d"
                .formatted(IndexList.MAX_SIZE, lengths[i], i, sum));
      }
      sum += lengths[i];
    }
    return cut(lengths, (int) sum, seed);
  }

  /**
   * Splits into parts of given fractions, rounded down to whole samples; the samples left over go
   * to the first parts, one each.
   *
   * @param datasetSize number of samples in the dataset, in [0, 2147483639]
   * @param fractions the fraction of each part, in [0, 1]; they sum to 1 to within 10<sup>-9</sup>
   * @param seed the seed of the generator, any number; only its low 32 bits are used
   * @return the dataset indices of each part, int64
   * @throws IllegalArgumentException if an argument is outside of its range
   * @throws IllegalStateException if the Java heap is too small for the parts
   */
  public static List<long[]> byFractions(long datasetSize, double[] fractions, long seed) {
    requireNonNull(fractions, "fractions");
    if (datasetSize < 0 || datasetSize > IndexList.MAX_SIZE) {
      throw new IllegalArgumentException(
          "datasetSize must be in [0, %d], got %d".formatted(IndexList.MAX_SIZE, datasetSize));
    }
    long[] lengths = PartLengths.ofFractions((int) datasetSize, fractions);
    return cut(lengths, (int) datasetSize, seed);
  }

  private static List<long[]> cut(long[] lengths, int datasetSize, long seed) {
    int[] order = PythonGenerator.of(seed).randperm(datasetSize);
    List<long[]> parts = new ArrayList<>();
    int start = 0;
    for (long length : lengths) {
      int end = start + (int) length;
      long[] part = HeapMemory.array("indices", end - start, long[]::new);
      for (int i = 0; i < part.length; i++) {
        part[i] = order[start + i];
      }
      parts.add(part);
      start = end;
    }
    return parts;
  }
}
