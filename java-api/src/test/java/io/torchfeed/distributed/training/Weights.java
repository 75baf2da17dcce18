// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/** A module whose parameters are numbers. */
final class Weights extends Module {
  final Tensor first;
  final Tensor second;

  Weights(float... values) {
    second = register_parameter("second", Tensor.create(new float[] {7}, 1));
    first = register_parameter("first", Tensor.create(values, values.length));
  }

  float[] get() {
    float[] values = new float[(int) first.numel()];
    first.data_ptr_float().get(values);
    return values;
  }

  void set(float... values) {
    first.data_ptr_float().put(values);
  }

  void add(int at, double summand) {
    float[] values = get();
    values[at] += (float) summand;
    set(values);
  }

  /** Excludes the second parameter from training. */
  static Weights frozen(Weights net) {
    net.second.set_requires_grad(false);
    return net;
  }
}
