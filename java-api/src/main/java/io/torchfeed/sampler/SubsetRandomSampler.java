// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * The order of PyTorch's Python {@code SubsetRandomSampler} with a generator of its own, bit for
 * bit: a list of dataset indices, shuffled in each epoch.
 *
 * <p>Source: torch 2.10.0, {@code torch/utils/data/sampler.py} and {@code randperm} on the CPU, in
 * pure Java; golden/python_samplers.py. Epoch e is pass e, counted from 0, over a sampler whose
 * generator was seeded once, with {@code seed}.
 *
 * <p>Immutable; any number of threads may open cursors. The plan holds 4 bytes for each index when
 * all are below 2<sup>31</sup> and 8 otherwise, and an open cursor as much again. Opening an epoch
 * takes one shuffle and passes over the random numbers of the epochs before, in constant time when
 * they are many; {@link Cursor#seek} is constant.
 */
public final class SubsetRandomSampler implements Sampler {
  private final IndexList indices;
  private final long seed;
  private final PlanParameters parameters;

  /**
   * A plan. The indices are copied.
   *
   * @param indices dataset indices, each at least 0; may be empty and may hold an index twice
   * @param seed the seed of the generator, any number; its low 32 bits count
   * @throws IllegalArgumentException if an index is negative
   */
  public SubsetRandomSampler(long[] indices, long seed) {
    for (int i = 0; i < indices.length; i++) {
      if (indices[i] < 0) {
        throw new IllegalArgumentException(
            "indices must be at least 0, got %d at position %d".formatted(indices[i], i));
      }
    }
    this.indices = IndexList.copyOf("a subset", indices);
    this.seed = seed;
    this.parameters =
        PlanParameters.of("python.SubsetRandomSampler")
            .with("indices", new ContentHash().add(this.indices).hex())
            .with("size", indices.length)
            .with("seed", seed);
  }

  @Override
  public long size() {
    return indices.length();
  }

  @Override
  public Cursor epoch(long epoch) {
    int n = indices.length();
    Mt19937 generator = Passes.generator(seed, epoch, Randperm.outputs(n));
    int[] positions = IndexList.ints(this, n);
    Randperm.write(generator, n, positions, 0, n);
    return new ListCursor(this, indices.select(this, positions));
  }

  @Override
  public PlanParameters parameters() {
    return parameters;
  }

  /** Names the plan by its size and seed. */
  @Override
  public String toString() {
    return "SubsetRandomSampler[size=%d, seed=%d]".formatted(size(), seed);
  }
}
