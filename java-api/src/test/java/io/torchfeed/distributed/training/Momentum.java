// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.StateDict;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/** SGD with momentum, whose state is plain to see. The caller's pointer scope owns its tensors. */
final class Momentum {
  private final ResumeNet net;
  private final Map<String, Tensor> velocities = new TreeMap<>();

  Momentum(ResumeNet net) {
    this.net = net;
    for (int i = 0; i < net.trained().size(); i++) {
      velocities.put(String.valueOf(i), net.trained().get(i).detach().clone().zero_());
    }
  }

  void zeroGrad() {
    net.trained().forEach(parameter -> parameter.mutable_grad().reset());
  }

  void step() {
    try (PointerScope scope = new PointerScope()) {
      for (int i = 0; i < net.trained().size(); i++) {
        Tensor parameter = net.trained().get(i);
        if (!parameter.grad().defined()) {
          continue;
        }
        Tensor velocity = requireNonNull(velocities.get(String.valueOf(i)));
        velocity.mul_(new Scalar(0.9f)).add_(parameter.grad());
        parameter.detach().add_(velocity, new Scalar(-0.05f));
      }
    }
  }

  StateDict stateDict() {
    return StateDict.of("", velocities);
  }

  void loadStateDict(StateDict state) {
    state.copyTo(velocities);
  }
}
