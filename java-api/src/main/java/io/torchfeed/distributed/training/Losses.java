// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import java.util.Arrays;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Tensor;

/** The backward pass of models whose gradients no native reducer sees. */
final class Losses {
  private Losses() {}

  /**
   * Computes a loss, and adds its gradients to those of the parameters.
   *
   * @throws IllegalArgumentException if the loss is not a single number with a gradient
   */
  static void backward(Supplier<Tensor> pass) {
    Tensor loss = pass.get();
    if (!loss.defined() || loss.numel() != 1 || !loss.requires_grad()) {
      throw new IllegalArgumentException(
          "loss must be a single number with a gradient, got "
              + (loss.defined()
                  ? "one of shape %s with%s a gradient"
                      .formatted(Arrays.toString(loss.shape()), loss.requires_grad() ? "" : "out")
                  : "an undefined tensor"));
    }
    loss.backward();
  }
}
