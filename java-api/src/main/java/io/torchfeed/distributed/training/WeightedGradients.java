// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import io.torchfeed.bindings.Gradients;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/** The gradients of a step of one process, whose batches all have weights, or none. */
final class WeightedGradients {
  private final Module module;
  private double sum;
  private boolean hasWeights;
  private boolean isOpen; // whether the step has a batch

  WeightedGradients(Module module) {
    this.module = module;
  }

  /** Adds the gradients of a loss without weight. */
  void add(Supplier<Tensor> loss) {
    begin(false);
    Losses.backward(loss);
  }

  /** Adds the gradients of a loss with a weight. */
  void add(Supplier<Tensor> loss, double weight) {
    if (!(weight >= 0 && weight <= Float.MAX_VALUE)) {
      throw new IllegalArgumentException(
          "weight must be a finite number of at least 0, and at most %s, got %s"
              .formatted(Float.MAX_VALUE, weight));
    }
    begin(true);
    Tensor mean = Losses.of(loss);
    if (weight > 0) { // the mean over nothing is NaN
      try (PointerScope scope = new PointerScope()) {
        Losses.checked(mean).mul(new Scalar(weight)).backward();
      }
      sum += weight;
    }
  }

  private void begin(boolean isWeighted) {
    if (isOpen && !hasGradients()) {
      isOpen = false; // they have been cleared, and the weights with them
    }
    if (isOpen && isWeighted != hasWeights) {
      throw new IllegalStateException("the batches of a step must all have weights, or none");
    }
    if (!isOpen) {
      sum = 0;
    }
    isOpen = true;
    hasWeights = isWeighted;
  }

  private boolean hasGradients() {
    try (TensorVector parameters = module.parameters()) {
      return Gradients.exist(parameters);
    }
  }

  /** Ends the step: gradients become weighted means. */
  void divide() {
    if (isOpen && hasWeights) {
      try (TensorVector parameters = module.parameters()) {
        if (sum > 0 && Gradients.exist(parameters)) {
          Gradients.divide(parameters, sum);
        } else {
          Gradients.give_zeros(parameters);
        }
      }
    }
    isOpen = false;
  }
}
