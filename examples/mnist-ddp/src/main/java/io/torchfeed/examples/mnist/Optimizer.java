// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.distributed.QAdam;
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
      Net net, Replica model, Settings settings, byte @Nullable [] state, String device) {
    if (settings.comm() == Comm.QADAM) {
      return new Adam(model.adam(Comm.adam(settings.lr())));
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

  /** An optimizer whose state is not saved. */
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
      return new byte[0];
    }

    @Override
    public void close() {
      optimizer.close();
    }
  }
}
