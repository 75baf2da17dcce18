// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.amp;

import io.torchfeed.bindings.NativeException;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerParamGroupVector;
import org.bytedeco.pytorch.TensorVector;

/** An optimizer of libtorch; equal to others of the same one. */
record LibtorchOptimizer(Optimizer optimizer) implements TrainingOptimizer {
  @Override
  public void zeroGrad() {
    optimizer.zero_grad();
  }

  @Override
  public void step() {
    try {
      optimizer.step().close();
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    }
  }

  @Override
  public TensorVector parameters() {
    if (optimizer.isNull()) {
      throw new IllegalArgumentException("the optimizer is closed");
    }
    TensorVector all = new TensorVector();
    OptimizerParamGroupVector groups = optimizer.param_groups();
    for (long i = 0; i < groups.size(); i++) {
      TensorVector parameters = groups.get(i).params();
      for (long j = 0; j < parameters.size(); j++) {
        all.push_back(parameters.get(j));
      }
    }
    return all;
  }

  @Override
  public void close() {
    optimizer.close();
  }
}
