// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.random.RandomGenerator;
import org.bytedeco.pytorch.Tensor;

/**
 * A transform of a whole batch once its samples are written, for example to normalize or mix
 * samples. It runs on the worker that filled the batch, concurrently with the training step.
 *
 * <pre>{@code
 * BatchTransform toFloat =
 *     (tensors, random) ->
 *         new Tensor[] {tensors[0].to(ScalarType.Float).div_(new Scalar(255)), tensors[1]};
 * }</pre>
 */
@FunctionalInterface
public interface BatchTransform {
  /**
   * Computes the tensors of the batch. Called concurrently by several threads, in a {@code
   * PointerScope} and without recording gradients.
   *
   * @param tensors the columns of the dataset, followed by the length, mask or offset tensors;
   *     views of the batch's memory, which may be written. They are valid only during this call.
   * @param random random numbers that are the same for the same seed of the loader, epoch and first
   *     sample of the batch, regardless of the workers
   * @return the tensors that {@link io.torchfeed.data.loader.Batch#tensor} returns: some of the
   *     arguments, views of them, or new ones, of any number and shape
   * @throws Exception if they cannot be computed; the consumer gets an {@link
   *     IllegalStateException} with this cause in place of the batch
   */
  Tensor[] apply(Tensor[] tensors, RandomGenerator random) throws Exception;
}
