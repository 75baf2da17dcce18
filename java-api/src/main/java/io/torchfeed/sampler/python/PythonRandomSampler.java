// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.IndexList;
import io.torchfeed.internal.Mt19937;
import io.torchfeed.internal.Randint;
import io.torchfeed.internal.Randperm;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.ListCursor;

/**
 * The order of PyTorch's Python {@code RandomSampler} with a generator of its own, bit for bit: a
 * permutation of the dataset, or any number of draws from it.
 *
 * <p>Source: torch 2.10.0, {@code torch/utils/data/sampler.py}, {@code randperm} and {@code
 * randint} on the CPU, in pure Java; golden/python_samplers.py. Draws without replacement are
 * consecutive whole permutations, the last one truncated.
 *
 * <p>Epoch e is pass e, counted from 0, over a sampler whose generator was seeded once, with {@code
 * seed}, if every earlier pass ran to its end. As in PyTorch, such a pass draws one more
 * permutation than it delivers; with numSamples = datasetSize, epoch e is therefore permutation 2e
 * of the generator. {@link #withGeneratorUse} selects the passes of a {@code DataLoader}, or passes
 * without a generator, each of which PyTorch seeds from the process-wide one:
 *
 * <pre>{@code
 * // DataLoader(data, shuffle=True, generator=torch.Generator().manual_seed(42))
 * Sampler sampler =
 *     PythonRandomSampler.of(50_000, 42).withGeneratorUse(PythonGenerator.Use.LOADER);
 * }</pre>
 *
 * <p>An open cursor holds 4 bytes per draw (8 when drawing with replacement from more than
 * 2147483648 samples), and while it opens at most 4 bytes per sample in addition. Opening skips the
 * random numbers of the preceding epochs, in constant time if there are many; {@link
 * io.torchfeed.sampler.Seekable#seek} takes constant time.
 *
 * @param datasetSize number of samples in the dataset, at least 1; without replacement at most
 *     2147483639
 * @param replacement whether a sample can be drawn more than once
 * @param numSamples number of draws in an epoch, in [1, 2147483639]; may exceed datasetSize
 * @param seed the seed of the generator, any number; only its low 32 bits are used
 * @param generatorUse the other users of that generator
 */
public record PythonRandomSampler(
    long datasetSize,
    boolean replacement,
    long numSamples,
    long seed,
    PythonGenerator.Use generatorUse)
    implements Sampler {
  /**
   * Creates a plan with all parameters given.
   *
   * @param datasetSize number of samples in the dataset, at least 1; without replacement at most
   *     2147483639
   * @param replacement whether a sample can be drawn more than once
   * @param numSamples number of draws in an epoch, in [1, 2147483639]; may exceed datasetSize
   * @param seed the seed of the generator, any number; only its low 32 bits are used
   * @param generatorUse the other users of that generator
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public PythonRandomSampler {
    requireNonNull(generatorUse, "generatorUse");
    long most = replacement ? Long.MAX_VALUE : IndexList.MAX_SIZE;
    if (datasetSize < 1 || datasetSize > most) {
      throw new IllegalArgumentException(
          "datasetSize must be in [1, %d] %s replacement, got %d"
              .formatted(most, replacement ? "with" : "without", datasetSize));
    }
    Checks.requireSamples(numSamples);
  }

  /**
   * Creates a plan with PyTorch's defaults: a permutation of the dataset in each epoch. A dataset
   * that is too large for it, drawn from with replacement, needs the constructor.
   *
   * @param datasetSize number of samples in the dataset, in [1, 2147483639]
   * @param seed the seed of the generator, any number; only its low 32 bits are used
   * @return the plan
   * @throws IllegalArgumentException if {@code datasetSize} is outside of its range
   */
  public static PythonRandomSampler of(long datasetSize, long seed) {
    return new PythonRandomSampler(
        datasetSize, false, datasetSize, seed, PythonGenerator.Use.SAMPLER);
  }

  /**
   * Returns this plan with another number of draws. Without replacement, a permutation follows the
   * other until there are enough.
   *
   * @param numSamples number of draws in an epoch, in [1, 2147483639]; may exceed datasetSize
   * @return the new plan
   * @throws IllegalArgumentException if the number is outside of its range
   */
  public PythonRandomSampler withNumSamples(long numSamples) {
    return new PythonRandomSampler(datasetSize, replacement, numSamples, seed, generatorUse);
  }

  /**
   * Returns this plan with or without replacement.
   *
   * @param replacement whether a sample can be drawn more than once
   * @return the new plan
   * @throws IllegalArgumentException if the dataset is too large for draws without replacement
   */
  public PythonRandomSampler withReplacement(boolean replacement) {
    return new PythonRandomSampler(datasetSize, replacement, numSamples, seed, generatorUse);
  }

  /**
   * Returns this plan with another use of the generator.
   *
   * @param generatorUse the other users of the sampler's generator
   * @return the new plan
   */
  public PythonRandomSampler withGeneratorUse(PythonGenerator.Use generatorUse) {
    return new PythonRandomSampler(datasetSize, replacement, numSamples, seed, generatorUse);
  }

  @Override
  public long size() {
    return numSamples;
  }

  @Override
  public Cursor epoch(long epoch) {
    if (replacement) {
      long outputs = numSamples * Randint.outputs(datasetSize);
      return new ListCursor(this, drawn(generatorOfPass(epoch, outputs)));
    }
    int n = (int) datasetSize;
    long outputs = (numSamples / n + 1) * Randperm.outputs(n);
    return new ListCursor(this, permuted(n, generatorOfPass(epoch, outputs)));
  }

  private Mt19937 generatorOfPass(long epoch, long outputs) {
    return generatorUse.generatorOfRandomSampler(seed, epoch, outputs);
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
    return generatorUse.addedTo(
        PlanParameters.of("python.RandomSampler")
            .with("datasetSize", datasetSize)
            .with("replacement", replacement ? "WITH" : "WITHOUT")
            .with("numSamples", numSamples)
            .with("seed", seed));
  }
}
