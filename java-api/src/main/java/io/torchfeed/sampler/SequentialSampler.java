// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import io.torchfeed.bindings.IndexCursor;

/**
 * The order of libtorch's C++ {@code SequentialSampler}: the dataset from its first sample to its
 * last.
 *
 * <p>Source: libtorch 2.10.0, {@code torch::data::samplers::SequentialSampler}, which does the
 * work. Every epoch is the same. Memory and {@link Cursor#seek} are constant.
 *
 * @param datasetSize number of samples in the dataset, at least 0
 */
public record SequentialSampler(long datasetSize) implements Sampler {
  /**
   * A plan.
   *
   * @param datasetSize number of samples in the dataset, at least 0
   * @throws IllegalArgumentException if {@code datasetSize} is negative
   */
  public SequentialSampler {
    Arguments.requireDatasetSize(datasetSize);
  }

  @Override
  public long size() {
    return datasetSize;
  }

  @Override
  public Cursor epoch(long epoch) {
    Arguments.requireEpoch(epoch);
    return NativeCursor.open(this, position -> false, () -> IndexCursor.sequential(datasetSize));
  }

  /**
   * The same plan without libtorch: equal parameters and equal orders, computed in Java.
   *
   * @return a plan that loads no native library
   */
  public Sampler inJava() {
    return new SequentialInJava(this);
  }

  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("libtorch.SequentialSampler").with("datasetSize", datasetSize);
  }
}
