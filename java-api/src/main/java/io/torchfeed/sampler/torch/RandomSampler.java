// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import io.torchfeed.bindings.IndexCursor;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.IndexList;
import io.torchfeed.internal.Mt19937;
import io.torchfeed.internal.Randperm;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.Tail;
import io.torchfeed.sampler.cursor.ListCursor;

/**
 * The order of libtorch's C++ {@code RandomSampler}: a random permutation of the dataset.
 *
 * <p>Source: libtorch 2.10.0, {@code torch::data::samplers::RandomSampler}, which does the work.
 * Epoch e has the order of that class if it is constructed right after {@code
 * torch::manual_seed(seed + e)}; the C++ class draws from the process-wide generator, whereas this
 * plan has its own and does not touch that one. The sum is taken modulo 2<sup>32</sup>, so (seed 0,
 * epoch 1) and (seed 1, epoch 0) are the same order. {@link
 * io.torchfeed.sampler.python.PythonGenerator} shows how a seed is drawn from the process-wide
 * generator, as PyTorch's Python samplers do. An open cursor holds 8 bytes per sample. Opening an
 * epoch costs one shuffle; {@link io.torchfeed.sampler.Seekable#seek} takes constant time.
 *
 * @param datasetSize number of samples in the dataset, in [0, 2<sup>60</sup> - 1]
 * @param seed any number
 */
public record RandomSampler(long datasetSize, long seed) implements Sampler {
  /**
   * Creates a plan.
   *
   * @param datasetSize number of samples in the dataset, in [0, 2<sup>60</sup> - 1]
   * @param seed any number
   * @throws IllegalArgumentException if {@code datasetSize} is outside of its range
   */
  public RandomSampler {
    Checks.requireDatasetSize(datasetSize);
    LibtorchChecks.requireListable(datasetSize, 1, Tail.PAD);
  }

  /**
   * Creates a plan.
   *
   * @param datasetSize number of samples in the dataset, in [0, 2<sup>60</sup> - 1]
   * @param seed any number
   * @return the plan
   * @throws IllegalArgumentException if {@code datasetSize} is outside of its range
   */
  public static RandomSampler of(long datasetSize, long seed) {
    return new RandomSampler(datasetSize, seed);
  }

  @Override
  public long size() {
    return datasetSize;
  }

  @Override
  public Cursor epoch(long epoch) {
    Checks.requireEpoch(epoch);
    return NativeCursor.openList(
        this, datasetSize, position -> false, () -> IndexCursor.random(datasetSize, seed, epoch));
  }

  /**
   * Returns the same plan without libtorch: equal parameters and equal orders, computed in Java. An
   * epoch takes 4 bytes per sample and has at most 2147483639 samples.
   *
   * @return a plan that loads no native library
   */
  public Sampler inJava() {
    return new InJava(
        this, (epoch, before) -> before.isEmpty() ? inJava(epoch) : resume(epoch, before));
  }

  private Cursor inJava(long epoch) {
    if (size() > IndexList.MAX_SIZE) {
      throw new IllegalStateException(
          ("an order in Java has at most %d indices, got %s; the plan's own epoch, computed by"
                  + " libtorch, has no such limit")
              .formatted(IndexList.MAX_SIZE, this));
    }
    int n = (int) size();
    int[] list = IndexList.ints(this, n);
    Randperm.write(new Mt19937(seed + epoch), n, list, 0, n);
    return new ListCursor(this, IndexList.of(list));
  }

  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("libtorch.RandomSampler")
        .with("datasetSize", datasetSize)
        .with("seed", seed);
  }
}
