// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.bytedeco.pytorch.global.torch.cross_entropy;
import static org.bytedeco.pytorch.global.torch.dropout;
import static org.bytedeco.pytorch.global.torch.relu;

import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/** A net with buffers and dropout, the same as in golden/python_checkpoints.py. */
final class SmallNet extends Module {
  private final LinearImpl first;
  private final BatchNorm1dImpl norm;
  private final LinearImpl last;
  private final double dropout;

  SmallNet() {
    this(8, 0.5);
  }

  SmallNet(long width, double dropout) {
    first = register_module("first", new LinearImpl(4, width));
    norm = register_module("norm", new BatchNorm1dImpl(new BatchNormOptions(width)));
    last = register_module("last", new LinearImpl(width, 3));
    this.dropout = dropout;
  }

  Tensor loss(int step) {
    Tensor x =
        torch.sin(torch.arange(new Scalar(24)).add(new Scalar(10 * step))).view(6, 4).to(floats());
    Tensor labels = torch.arange(new Scalar(6)).remainder(new Scalar(3));
    Tensor hidden = dropout(relu(norm.forward(first.forward(x))), dropout, true);
    return cross_entropy(last.forward(hidden), labels);
  }

  private static torch.ScalarType floats() {
    return torch.ScalarType.Float;
  }

  /** Trains some steps; returns the loss of the last one. */
  float train(Optimizer optimizer, int from, int to) {
    float loss = 0;
    for (int step = from; step < to; step++) {
      try (PointerScope scope = new PointerScope()) {
        optimizer.zero_grad();
        Tensor value = loss(step);
        value.backward();
        optimizer.step();
        loss = value.item_float();
      }
    }
    return loss;
  }

  /** Returns all parameters and buffers as one text. */
  String values() {
    StringBuilder all = new StringBuilder();
    try (PointerScope scope = new PointerScope()) {
      for (Map.Entry<String, Tensor> entry : ModuleState.tensors(this).entrySet()) {
        Tensor flat = entry.getValue().detach().to(torch.ScalarType.Double).flatten();
        all.append(entry.getKey());
        for (long i = 0; i < flat.numel(); i++) {
          all.append(' ').append(flat.get(i).item_double());
        }
        all.append('\n');
      }
    }
    return all.toString();
  }

  /** Returns the parameters as a vector, for an optimizer. */
  TensorVector all() {
    return parameters();
  }
}
