// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.ContentHash;
import io.torchfeed.internal.IndexList;
import io.torchfeed.internal.Mt19937;
import io.torchfeed.internal.Randperm;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DatasetSize;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.ListCursor;

/**
 * The order of PyTorch's Python {@code SubsetRandomSampler} with a generator of its own, bit for
 * bit: a list of dataset indices, shuffled in each epoch.
 *
 * <p>Source: torch 2.10.0, {@code torch/utils/data/sampler.py} and {@code randperm} on the CPU, in
 * pure Java; golden/python_samplers.py. Epoch e is pass e, counted from 0, over a sampler whose
 * generator was seeded once, with {@code seed}; {@link #withGeneratorUse} covers the passes of a
 * {@code DataLoader} and those without a generator.
 *
 * <p>Immutable; any number of threads may open cursors. The plan takes 4 bytes per index if all are
 * below 2<sup>31</sup> and 8 otherwise, and an open cursor takes the same amount again. Opening an
 * epoch takes one shuffle and skips the random numbers of earlier epochs, in constant time if they
 * are many; {@link io.torchfeed.sampler.Seekable#seek} takes constant time.
 */
public final class SubsetRandomSampler implements Sampler {
  private final IndexList indices;
  private final long seed;
  private final PythonGenerator.Use generatorUse;
  private final DatasetSize madeFor;
  private final PlanParameters parameters; // without the generator use

  private SubsetRandomSampler(long[] indices, long seed) {
    for (int i = 0; i < indices.length; i++) {
      if (indices[i] < 0) {
        throw new IllegalArgumentException(
            "indices must be at least 0, got %d at position %d".formatted(indices[i], i));
      }
    }
    this.indices = IndexList.copyOf("a subset", indices);
    this.madeFor = DatasetSize.containing(indices);
    this.seed = seed;
    this.generatorUse = PythonGenerator.Use.SAMPLER;
    this.parameters =
        PlanParameters.of("python.SubsetRandomSampler")
            .with("indices", new ContentHash().add(this.indices).hex())
            .with("size", indices.length)
            .with("seed", seed);
  }

  /**
   * Creates a plan. The indices are copied.
   *
   * @param indices dataset indices, each at least 0; may be empty and may hold an index twice
   * @param seed the seed of the generator, any value; only its low 32 bits count
   * @return the plan
   * @throws IllegalArgumentException if an index is negative
   */
  public static SubsetRandomSampler of(long[] indices, long seed) {
    requireNonNull(indices, "indices");
    return new SubsetRandomSampler(indices, seed);
  }

  private SubsetRandomSampler(SubsetRandomSampler other, PythonGenerator.Use generatorUse) {
    indices = other.indices;
    madeFor = other.madeFor;
    seed = other.seed;
    parameters = other.parameters;
    this.generatorUse = generatorUse;
  }

  /**
   * Returns this plan with another use of the generator.
   *
   * @param generatorUse the other users of the sampler's generator
   * @return the new plan
   */
  public SubsetRandomSampler withGeneratorUse(PythonGenerator.Use generatorUse) {
    return new SubsetRandomSampler(this, requireNonNull(generatorUse, "generatorUse"));
  }

  @Override
  public long size() {
    return indices.length();
  }

  @Override
  public Cursor epoch(long epoch) {
    int n = indices.length();
    Mt19937 generator = generatorUse.generator(seed, epoch, Randperm.outputs(n));
    int[] positions = IndexList.ints(this, n);
    Randperm.write(generator, n, positions, 0, n);
    return new ListCursor(this, indices.select(this, positions));
  }

  @Override
  public DatasetSize madeFor() {
    return madeFor;
  }

  @Override
  public PlanParameters parameters() {
    return generatorUse.addedTo(parameters);
  }

  /** Describes the plan by its size, seed and use of the generator. */
  @Override
  public String toString() {
    return "SubsetRandomSampler[size=%d, seed=%d, generatorUse=%s]"
        .formatted(size(), seed, generatorUse);
  }
}
