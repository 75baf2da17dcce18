// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.distributed.training.ReplicatedModel;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * A step with the gradients of several batches; a rank without any contributes gradients of 0.
 *
 * @param batches how many; the last step of an epoch may have fewer
 */
record AccumulatedStep(ElasticTraining.Loss loss, Runnable update, int batches) {
  /** Runs the step. That a batch is the last one is known only when it has ended. */
  void run(ReplicatedModel model, EpochBatches pass) {
    model.module().zero_grad(true); // also gradients of a step that has failed
    for (int left = batches; pass.hasNext(); left--) {
      Batch batch = pass.next();
      if (left == 1) {
        model.step(() -> loss.of(batch), update);
        return;
      }
      model.accumulate(() -> loss.of(batch));
    }
    model.step(() -> nothing(model.module()), update);
  }

  /** Returns a loss whose gradients are 0. */
  private static Tensor nothing(Module module) {
    Tensor sum = torch.zeros(1);
    try (TensorVector parameters = module.parameters()) {
      for (long i = 0; i < parameters.size(); i++) {
        if (parameters.get(i).requires_grad()) {
          sum = sum.add(parameters.get(i).sum().mul(new Scalar(0.0)));
        }
      }
    }
    return sum.sum();
  }
}
