// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import io.torchfeed.data.Batch;
import io.torchfeed.data.Batches;
import io.torchfeed.distributed.training.ReplicatedModel;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * A step with the gradients of several batches.
 *
 * @param batches how many; the last step of an epoch may have fewer
 */
record AccumulatedStep(ElasticTraining.Loss loss, Runnable update, int batches) {
  /** Runs the step with the next batches of the pass, which has at least one. */
  void run(ReplicatedModel model, Batches pass) {
    model.module().zero_grad(true); // also gradients of a step that has failed
    Batch batch = pass.next();
    for (int left = batches; left > 1; left--) {
      Batch current = batch;
      model.accumulate(() -> loss.of(current));
      if (!pass.hasNext()) { // which ends the batch, so it is not known before
        model.step(() -> nothing(model.module()), update);
        return;
      }
      batch = pass.next();
    }
    Batch last = batch;
    model.step(() -> loss.of(last), update);
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
