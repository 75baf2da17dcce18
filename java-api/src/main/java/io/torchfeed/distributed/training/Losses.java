// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.Gradients;
import io.torchfeed.bindings.NativeException;
import java.util.Arrays;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/** The backward pass and the norm of models whose gradients no native reducer sees. */
final class Losses {
  private static final String RULE = "loss must be a single number with a gradient, got ";

  private Losses() {}

  /**
   * Computes a loss, and adds its gradients to those of the parameters.
   *
   * @throws IllegalArgumentException if the loss is not a single number with a gradient
   */
  static void backward(Supplier<Tensor> pass) {
    checked(of(pass)).backward();
  }

  /**
   * Returns the loss of a pass.
   *
   * @throws IllegalArgumentException if it is null
   */
  static Tensor of(Supplier<Tensor> pass) {
    Tensor loss = pass.get();
    if (loss == null) {
      throw new IllegalArgumentException(RULE + "null, which the function of the loss returned");
    }
    return loss;
  }

  /** Returns the refusal of a weight by a model that averages no gradients. */
  static IllegalStateException withoutWeights(Supplier<Tensor> loss, Runnable update) {
    requireNonNull(loss, "loss");
    requireNonNull(update, "update");
    return new IllegalStateException(
        "ModelAveraging exchanges parameters and averages no gradients, so it takes no weights of"
            + " losses; wrap the module by DistributedDataParallel");
  }

  /** See {@link ReplicatedModel#clipGradNorm}. */
  static double clip(Module module, double maxNorm) {
    try (TensorVector parameters = module.parameters()) {
      return Gradients.clip(parameters, maxNorm);
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    }
  }

  /** Returns the loss, which must be a single number with a gradient. */
  static Tensor checked(Tensor loss) {
    if (!loss.defined() || loss.numel() != 1 || !loss.requires_grad()) {
      throw new IllegalArgumentException(
          RULE
              + (loss.defined()
                  ? "one of shape %s with%s a gradient"
                      .formatted(Arrays.toString(loss.shape()), loss.requires_grad() ? "" : "out")
                  : "an undefined tensor"));
    }
    return loss;
  }
}
