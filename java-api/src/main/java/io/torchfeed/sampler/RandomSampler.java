// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import io.torchfeed.bindings.IndexCursor;

/**
 * The order of libtorch's C++ {@code RandomSampler}: a random permutation of the dataset.
 *
 * <p>Source: libtorch 2.10.0, {@code torch::data::samplers::RandomSampler}, which does the work.
 * Epoch e has the order of that class when it is constructed right after {@code
 * torch::manual_seed(seed + e)}; the C++ class draws from the process-wide generator, but this plan
 * has its own and leaves that one alone. The sum counts modulo 2<sup>32</sup>, so (seed 0, epoch 1)
 * and (seed 1, epoch 0) are the same order. An open cursor holds 8 bytes for each sample. Opening
 * an epoch costs one shuffle, {@link Cursor#seek} constant time.
 *
 * @param datasetSize number of samples in the dataset, in [0, 2<sup>60</sup> - 1]
 * @param seed any number
 */
public record RandomSampler(long datasetSize, long seed) implements Sampler {
  /**
   * A plan.
   *
   * @param datasetSize number of samples in the dataset, in [0, 2<sup>60</sup> - 1]
   * @param seed any number
   * @throws IllegalArgumentException if {@code datasetSize} is outside of its range
   */
  public RandomSampler {
    Arguments.requireDatasetSize(datasetSize);
    Arguments.requireListable(datasetSize, 1, Tail.PAD);
  }

  @Override
  public long size() {
    return datasetSize;
  }

  @Override
  public Cursor epoch(long epoch) {
    Arguments.requireEpoch(epoch);
    return NativeCursor.openList(
        this, datasetSize, position -> false, () -> IndexCursor.random(datasetSize, seed, epoch));
  }

  /**
   * The same plan without libtorch: equal parameters and equal orders, computed in Java. An epoch
   * takes 4 bytes for each sample, of which there may be 2147483639.
   *
   * @return a plan that loads no native library
   */
  public Sampler inJava() {
    return new RandomInJava(this);
  }

  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("libtorch.RandomSampler")
        .with("datasetSize", datasetSize)
        .with("seed", seed);
  }
}
