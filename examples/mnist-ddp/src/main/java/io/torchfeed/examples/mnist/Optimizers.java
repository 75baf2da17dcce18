// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.amp.TrainingOptimizer;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.QAdam;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.examples.common.CommandException;
import java.util.function.Supplier;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.TensorVector;
import org.jspecify.annotations.Nullable;

/**
 * The optimizer of a run: SGD with momentum or, where its moments are exchanged, QAdam.
 *
 * @param training closed with this object
 * @param archive returns the state, for a checkpoint
 */
record Optimizers(TrainingOptimizer training, Supplier<byte[]> archive) implements AutoCloseable {
  /**
   * Creates the optimizer of a model.
   *
   * @param state of a checkpoint of the same settings, or null
   * @param device the device of the model
   */
  static Optimizers of(
      Net net, ReplicatedModel model, Settings settings, byte @Nullable [] state, String device) {
    if (settings.comm() == Comm.QADAM) {
      return adam((DistributedDataParallel) model, settings, state);
    }
    SGD sgd = sgd(net, settings);
    if (state != null) {
      restore(sgd, state, device, settings);
    }
    return new Optimizers(TrainingOptimizer.of(sgd), () -> Archives.write(sgd::save));
  }

  private static Optimizers adam(
      DistributedDataParallel model, Settings settings, byte @Nullable [] state) {
    if (state != null && state.length == 0) {
      throw CommandException.wrongUse(
          "Cannot resume: the checkpoint is of an older version, which has no moments for --comm"
              + " qadam; start again without --resume",
          null);
    }
    QAdam adam = QAdam.of(model, Comm.adam(settings.lr()));
    if (state != null) {
      try (StateDict moments = RankState.read(state)) {
        adam.loadStateDict(moments);
      }
    }
    return new Optimizers(
        adam,
        () -> {
          try (StateDict now = adam.stateDict()) {
            return RankState.write(now);
          }
        });
  }

  static SGD sgd(Net net, Settings settings) {
    try (TensorVector parameters = net.parameters();
        SGDOptions options = new SGDOptions(settings.lr())) {
      options.momentum().put(settings.momentum());
      return new SGD(parameters, options);
    }
  }

  /** Restores the momentum buffers of a checkpoint; the run keeps its own rate and momentum. */
  @SuppressWarnings("try") // a scope works by being open
  private static void restore(SGD optimizer, byte[] archive, String device, Settings settings) {
    Archives.read(archive, device, optimizer::load);
    try (PointerScope scope = new PointerScope()) {
      SGDOptions options = new SGDOptions(optimizer.param_groups().get(0).options());
      options.set_lr(settings.lr());
      options.momentum().put(settings.momentum());
    }
  }

  @Override
  public void close() {
    training.close();
  }
}
