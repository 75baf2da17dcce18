// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.random.RandomGenerator;
import org.bytedeco.pytorch.Tensor;

/**
 * What becomes of a whole batch once its samples are written, for example normalised or mixed
 * samples. It runs on the worker that made the batch, so beside the training step.
 *
 * <pre>{@code
 * BatchTransform toFloat =
 *     (tensors, random) -> new Tensor[] {tensors[0].to(ScalarType.Float).div_(255), tensors[1]};
 * }</pre>
 */
@FunctionalInterface
public interface BatchTransform {
  /**
   * Makes the tensors of the batch. Called by several threads at once, in a {@code PointerScope}
   * and without recording gradients.
   *
   * @param tensors those of the dataset's columns, and then those that tell lengths; views of the
   *     batch's memory, which may be written. They are valid in this call only.
   * @param random numbers that are the same for the same seed of the loader, epoch and first sample
   *     of the batch, whatever the workers do
   * @return the tensors that {@link Batch#tensor} gives: some of these, views of them, or new ones,
   *     of any number and shape
   * @throws Exception if they cannot be made; the consumer gets an {@link IllegalStateException}
   *     with this cause at the batch
   */
  Tensor[] apply(Tensor[] tensors, RandomGenerator random) throws Exception;
}
