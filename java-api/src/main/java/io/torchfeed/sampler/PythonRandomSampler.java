// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

/**
 * The order of PyTorch's Python {@code RandomSampler} with a generator of its own, bit for bit: a
 * permutation of the dataset, or any number of draws from it.
 *
 * <p>Source: torch 2.10.0, {@code torch/utils/data/sampler.py}, {@code randperm} and {@code
 * randint} on the CPU, in pure Java; golden/python_samplers.py. Draws without replacement are whole
 * permutations, one after the other, the last one cut.
 *
 * <p>Epoch e is pass e, counted from 0, over a sampler whose generator was seeded once, with {@code
 * seed}, when every pass before ran to its end. As in PyTorch such a pass draws one more
 * permutation than it delivers; with numSamples = datasetSize epoch e is therefore permutation 2e
 * of the generator. (Without a generator PyTorch seeds each pass from the process-wide one.)
 *
 * <p>An open cursor holds 4 bytes for each draw (8 when drawing with replacement from more than
 * 2147483648 samples), and while it opens at most 4 bytes for each sample in addition. Opening
 * passes over the random numbers of the epochs before, in constant time when they are many; {@link
 * Cursor#seek} is constant.
 *
 * @param datasetSize number of samples in the dataset, at least 1; without replacement at most
 *     2147483639
 * @param replacement whether a sample that was drawn can be drawn again
 * @param numSamples number of draws in an epoch, in [1, 2147483639]; may exceed datasetSize
 * @param seed the seed of the generator, any number; its low 32 bits count
 */
public record PythonRandomSampler(
    long datasetSize, Replacement replacement, long numSamples, long seed) implements Sampler {
  /**
   * A plan with everything given.
   *
   * @param datasetSize number of samples in the dataset, at least 1; without replacement at most
   *     2147483639
   * @param replacement whether a sample that was drawn can be drawn again
   * @param numSamples number of draws in an epoch, in [1, 2147483639]; may exceed datasetSize
   * @param seed the seed of the generator, any number; its low 32 bits count
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public PythonRandomSampler {
    requireNonNull(replacement, "replacement");
    long most = replacement == Replacement.WITH ? Long.MAX_VALUE : IndexList.LONGEST;
    if (datasetSize < 1 || datasetSize > most) {
      throw new IllegalArgumentException(
          "datasetSize must be in [1, %d] %s replacement, got %d"
              .formatted(most, replacement == Replacement.WITH ? "with" : "without", datasetSize));
    }
    Passes.requireSamples(numSamples);
  }

  /**
   * A plan with PyTorch's defaults: a permutation of the dataset in each epoch.
   *
   * @param datasetSize number of samples in the dataset, in [1, 2147483639]
   * @param seed the seed of the generator, any number; its low 32 bits count
   * @throws IllegalArgumentException if {@code datasetSize} is outside of its range
   */
  public PythonRandomSampler(long datasetSize, long seed) {
    this(datasetSize, Replacement.WITHOUT, datasetSize, seed);
  }

  @Override
  public long size() {
    return numSamples;
  }

  @Override
  public Cursor epoch(long epoch) {
    if (replacement == Replacement.WITH) {
      long outputs = numSamples * Randint.outputs(datasetSize);
      return new ListCursor(this, drawn(Passes.generator(seed, epoch, outputs)));
    }
    int n = (int) datasetSize;
    long outputs = (numSamples / n + 1) * Randperm.outputs(n);
    return new ListCursor(this, permuted(n, Passes.generator(seed, epoch, outputs)));
  }

  private IndexList drawn(Mt19937 generator) {
    IndexList list = IndexList.ofLength(this, numSamples, datasetSize - 1);
    for (int i = 0; i < numSamples; i++) {
      list.set(i, Randint.next(generator, datasetSize));
    }
    return list;
  }

  private IndexList permuted(int n, Mt19937 generator) {
    int[] list = IndexList.ints(this, numSamples);
    for (int done = 0; done < list.length; ) {
      int count = Math.min(n, list.length - done);
      Randperm.write(generator, n, list, done, count);
      done += count;
    }
    return IndexList.of(list);
  }

  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("python.RandomSampler")
        .with("datasetSize", datasetSize)
        .with("replacement", replacement)
        .with("numSamples", numSamples)
        .with("seed", seed);
  }
}
