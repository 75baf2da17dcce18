// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import org.bytedeco.pytorch.Tensor;

/**
 * The last computation on the tensors of a batch by the worker that filled it: for example on a
 * device, ahead of the consumer.
 */
@FunctionalInterface
public interface BatchWork {
  /**
   * Computes the tensors of the batch. Called concurrently by several threads, in a {@code
   * PointerScope} and without recording gradients.
   *
   * @param tensors of the samples or, if there is one, of the transform
   * @param seed the seed of the loader
   * @param epoch the epoch
   * @param indices the numbers of the samples, in the order of the rows
   * @return the tensors of the batch, all of whose work is done
   * @throws Exception if they cannot be computed
   */
  Tensor[] apply(Tensor[] tensors, long seed, long epoch, long[] indices) throws Exception;
}
