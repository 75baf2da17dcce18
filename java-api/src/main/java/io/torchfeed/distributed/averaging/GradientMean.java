// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.averaging;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.ReduceOp;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** The mean of the gradients of all ranks, after a backward pass. */
public final class GradientMean {
  private GradientMean() {}

  /** Averages the gradients of parameters in place; one that is undefined counts as zeros. */
  static void average(Tensor[] parameters, ProcessGroup group) {
    try (PointerScope scope = new PointerScope()) {
      Tensor[] gradients = new Tensor[parameters.length];
      for (int i = 0; i < gradients.length; i++) {
        Tensor gradient = parameters[i].grad();
        if (!gradient.defined()) {
          gradient = torch.zeros_like(parameters[i]).detach();
          parameters[i].mutable_grad().put(gradient);
        }
        gradients[i] = gradient;
      }
      group.unchecked().allReduceCoalesced(gradients, ReduceOp.MEAN);
    }
  }
}
