// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.QAdam;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.examples.common.CommandException;
import org.bytedeco.pytorch.SGD;
import org.jspecify.annotations.Nullable;

/** The optimizer of a run: SGD with momentum or, where its moments are exchanged, QAdam. */
interface Optimizer extends AutoCloseable {
  void zeroGrad();

  void step();

  /** Returns the state, for a checkpoint. */
  byte[] archive();

  @Override
  void close();

  /**
   * Creates the optimizer of a model.
   *
   * @param state of a checkpoint of the same settings, or null
   * @param device the device of the model
   */
  static Optimizer of(
      Net net, ReplicatedModel model, Settings settings, byte @Nullable [] state, String device) {
    if (settings.comm() == Comm.QADAM) {
      if (state != null && state.length == 0) {
        throw CommandException.wrongUse(
            "Cannot resume: the checkpoint is of an older version, which has no moments for --comm"
                + " qadam; start again without --resume",
            null);
      }
      QAdam adam = QAdam.of((DistributedDataParallel) model, Comm.adam(settings.lr()));
      if (state != null) {
        try (StateDict moments = RankState.read(state)) {
          adam.loadStateDict(moments);
        }
      }
      return new Adam(adam);
    }
    SGD sgd = Optimizers.sgd(net, settings);
    if (state != null) {
      Optimizers.restore(sgd, state, device, settings);
    }
    return new Sgd(sgd);
  }

  /** An optimizer of libtorch. */
  record Sgd(SGD optimizer) implements Optimizer {
    @Override
    public void zeroGrad() {
      optimizer.zero_grad();
    }

    @Override
    public void step() {
      optimizer.step();
    }

    @Override
    public byte[] archive() {
      return Archives.write(optimizer::save);
    }

    @Override
    public void close() {
      optimizer.close();
    }
  }

  /** An optimizer of torchfeed. */
  record Adam(QAdam optimizer) implements Optimizer {
    @Override
    public void zeroGrad() {
      optimizer.zeroGrad();
    }

    @Override
    public void step() {
      optimizer.step();
    }

    @Override
    public byte[] archive() {
      try (StateDict state = optimizer.stateDict()) {
        return RankState.write(state);
      }
    }

    @Override
    public void close() {
      optimizer.close();
    }
  }
}
