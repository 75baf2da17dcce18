// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.amp.TrainingOptimizer;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.QAdam;
import io.torchfeed.distributed.training.ReplicatedModel;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.TensorVector;

/**
 * The optimizer of a run: SGD with momentum or, where its moments are exchanged, QAdam.
 *
 * @param training closed with this object
 * @param addTo adds the optimizer's state to a state
 * @param resumed to be run when the state of a checkpoint has been loaded
 */
record Optimizers(
    TrainingOptimizer training, Consumer<TrainingState.Builder> addTo, Runnable resumed)
    implements AutoCloseable {
  private static final String PART = "optimizer";

  /** Creates the optimizer of a model. */
  static Optimizers of(Net net, ReplicatedModel model, Settings settings) {
    if (settings.comm() == Comm.QADAM) {
      QAdam adam = QAdam.of((DistributedDataParallel) model, Comm.adam(settings.lr()));
      return new Optimizers(adam, state -> state.part(PART, adam), () -> {});
    }
    SGD sgd = sgd(net, settings);
    return new Optimizers(
        TrainingOptimizer.of(sgd),
        state -> add(sgd, net, settings, state),
        () -> keepOptions(sgd, settings));
  }

  /** Adds the momentum, which differs between the ranks unless they average gradients. */
  private static void add(SGD sgd, Net net, Settings settings, TrainingState.Builder state) {
    if (settings.algorithm() == Algorithm.ALLREDUCE) {
      state.optimizer(PART, sgd, net);
    } else {
      state.ofEachRank(PART, TrainingState.builder().optimizer("momentum", sgd, net).build());
    }
  }

  static SGD sgd(Net net, Settings settings) {
    try (TensorVector parameters = net.parameters();
        SGDOptions options = new SGDOptions(settings.lr())) {
      options.momentum().put(settings.momentum());
      return new SGD(parameters, options);
    }
  }

  /** Gives an optimizer this run's rate and momentum, whatever a checkpoint had. */
  @SuppressWarnings("try") // a scope works by being open
  private static void keepOptions(SGD optimizer, Settings settings) {
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
