// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training.steps;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.distributed.training.Uneven;
import io.torchfeed.distributed.training.UnevenInputs;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * A step with the gradients of one or several batches; a rank without any contributes gradients of
 * 0.
 *
 * @param loss of a batch
 * @param weight how much a batch counts; null if all count the same
 * @param update changes the parameters
 * @param batches how many; the last step of an epoch may have fewer
 */
public record AccumulatedStep(
    Function<Batch, Tensor> loss,
    @Nullable ToDoubleFunction<Batch> weight,
    Runnable update,
    int batches) {
  /** Runs the step. */
  public void run(ReplicatedModel model, EpochBatches pass) {
    model.module().zero_grad(true); // also gradients of a step that has failed
    if (pass.isUneven() && model instanceof DistributedDataParallel averaged) {
      boolean hasBatch = pass.hasNext();
      try (UnevenInputs inputs = averaged.unevenInputs(Uneven.passes(hasBatch ? 1 : 0))) {
        if (hasBatch) {
          runOwn(model, pass);
        }
        inputs.shadow(update); // takes the buffers of a rank that has a batch
      }
    } else {
      runOwn(model, pass);
    }
  }

  /** That a batch is the last one is known only when it has ended. */
  private void runOwn(ReplicatedModel model, EpochBatches pass) {
    for (int left = batches; pass.hasNext(); left--) {
      Batch batch = pass.next();
      if (left == 1) {
        step(model, batch);
        return;
      }
      accumulate(model, batch);
    }
    model.stepAccumulated(update);
  }

  private void step(ReplicatedModel model, Batch batch) {
    if (weight == null) {
      model.step(() -> loss.apply(batch), update);
    } else {
      model.step(() -> loss.apply(batch), weight.applyAsDouble(batch), update);
    }
  }

  private void accumulate(ReplicatedModel model, Batch batch) {
    if (weight == null) {
      model.accumulate(() -> loss.apply(batch));
    } else {
      model.accumulate(() -> loss.apply(batch), weight.applyAsDouble(batch));
    }
  }
}
