// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import io.torchfeed.bindings.IndexCursor;
import io.torchfeed.internal.Checks;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.OrderProbe;
import io.torchfeed.sampler.cursor.RangeCursor;

/**
 * The order of libtorch's C++ {@code SequentialSampler}: the dataset from the first sample to the
 * last.
 *
 * <p>Source: libtorch 2.10.0, {@code torch::data::samplers::SequentialSampler}, which computes the
 * indices. Every epoch is the same. Memory and the time of {@link
 * io.torchfeed.sampler.Seekable#seek} are constant.
 *
 * @param datasetSize number of samples in the dataset, at least 0
 */
public record SequentialSampler(long datasetSize) implements Sampler {
  /**
   * Creates a plan.
   *
   * @param datasetSize number of samples in the dataset, at least 0
   * @throws IllegalArgumentException if {@code datasetSize} is negative
   */
  public SequentialSampler {
    Checks.requireDatasetSize(datasetSize);
  }

  /**
   * Creates a plan.
   *
   * @param datasetSize number of samples in the dataset, at least 0
   * @return the plan
   * @throws IllegalArgumentException if {@code datasetSize} is negative
   */
  public static SequentialSampler of(long datasetSize) {
    return new SequentialSampler(datasetSize);
  }

  @Override
  public long size() {
    return datasetSize;
  }

  @Override
  public Cursor epoch(long epoch) {
    Checks.requireEpoch(epoch);
    return NativeCursor.open(this, position -> false, () -> IndexCursor.sequential(datasetSize));
  }

  /**
   * Returns the same plan without libtorch: equal parameters and equal orders, computed in Java.
   *
   * @return a plan that loads no native library
   */
  public Sampler inJava() {
    return new InJava(
        this,
        (epoch, before) ->
            before.isEmpty() ? new RangeCursor(this, size()) : resume(epoch, before));
  }

  @Override
  public long[] probe(long epoch, int worldSize) {
    Checks.requireEpoch(epoch);
    return OrderProbe.positions(datasetSize);
  }

  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("libtorch.SequentialSampler").with("datasetSize", datasetSize);
  }
}
