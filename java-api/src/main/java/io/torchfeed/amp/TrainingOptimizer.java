// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.amp;

import static java.util.Objects.requireNonNull;

import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.TensorVector;

/**
 * An optimizer as a training loop uses it: one of libtorch by {@link #of}, or one of torchfeed,
 * {@code QAdam}.
 *
 * <pre>{@code
 * try (GradScaler scaler = GradScaler.create();
 *     TrainingOptimizer updates = TrainingOptimizer.of(optimizer)) {
 *   for (Batch batch : batches) {
 *     updates.zeroGrad();
 *     model.backward(scaler.scale(loss(batch)));
 *     scaler.step(updates);
 *     scaler.update();
 *   }
 * }
 * }</pre>
 *
 * <p>Not thread-safe. {@code close} has no effect the second time.
 */
public interface TrainingOptimizer extends AutoCloseable {
  /**
   * Returns an optimizer of libtorch in this form.
   *
   * @param optimizer whose step needs no closure (LBFGS's does); closed by the result
   * @return the optimizer; the caller closes it
   */
  static TrainingOptimizer of(Optimizer optimizer) {
    return new LibtorchOptimizer(requireNonNull(optimizer, "optimizer"));
  }

  /** Makes the gradients of all parameters undefined. */
  void zeroGrad();

  /** Changes the parameters by their gradients. */
  void step();

  /**
   * Returns the parameters, in the order of the optimizer.
   *
   * @return a new list; the caller closes it
   */
  TensorVector parameters();

  /**
   * Verifies that the gradients of the last backward pass can be divided by a scale; {@link
   * GradScaler#unscale(TrainingOptimizer)} calls it first. An optimizer that has made no step
   * adopts the scale.
   *
   * @param scale by which the loss was multiplied
   * @throws IllegalStateException if they also contain earlier gradients, of another scale
   */
  default void requireLossScale(double scale) {}

  /**
   * Prepares for losses that are multiplied by a scale; {@link GradScaler#update} calls it when the
   * scale may have changed. To be called between backward passes.
   *
   * @param scale by which later losses are multiplied, above 0; 1 without a scaler
   */
  default void setLossScale(double scale) {}

  @Override
  void close();
}
