// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.training.AveragingAlgorithm;
import io.torchfeed.distributed.training.DataParallelOptions;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ModelAveraging;
import io.torchfeed.distributed.training.QAdam;
import io.torchfeed.distributed.training.ReplicatedModel;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.TensorVector;
import org.jspecify.annotations.Nullable;

/**
 * The ranks' exchange, as {@code --algorithm} and {@code --comm} say, and the optimizer that
 * belongs to it: SGD with momentum or, where its moments are exchanged, QAdam.
 */
final class Exchange implements AutoCloseable {
  private static final String PART = "optimizer";

  private final Settings settings;
  private final Net net;
  private final SGD sgd;
  private @Nullable QAdam adam;

  private Exchange(Settings settings, Net net, SGD sgd) {
    this.settings = settings;
    this.net = net;
    this.sgd = sgd;
  }

  /** Creates the exchange of a net, which is borrowed. */
  static Exchange of(Settings settings, Net net) {
    try (TensorVector parameters = net.parameters();
        SGDOptions options = new SGDOptions(settings.lr())) {
      options.momentum().put(settings.momentum);
      return new Exchange(settings, net, new SGD(parameters, options));
    }
  }

  /** Wraps the net for a group. */
  ReplicatedModel wrap(ProcessGroup group) {
    if (settings.algorithm != Algorithm.ALLREDUCE) {
      return ModelAveraging.wrap(net, group, averaging());
    }
    DistributedDataParallel wrapped =
        DistributedDataParallel.wrap(
            net, group, DataParallelOptions.defaults().withExchange(settings.comm.exchange()));
    if (settings.comm == Comm.QADAM) {
      closeAdam(); // of a wrapper before
      adam = QAdam.of(wrapped, Comm.adam(settings.lr()));
    }
    return wrapped;
  }

  private AveragingAlgorithm averaging() {
    AveragingAlgorithm averaging = settings.algorithm.averaging();
    boolean mayBeOdd = settings.elastic != null && settings.algorithm == Algorithm.SHIFT_ONE;
    return mayBeOdd ? averaging.withAllIfOdd() : averaging;
  }

  /**
   * Adds the net and the optimizer to a state. The momentum differs between ranks that stay, unless
   * they average gradients.
   */
  void addTo(TrainingState.Builder state) {
    state.module("model", net);
    if (settings.comm == Comm.QADAM) {
      state.part(PART, new Moments());
    } else if (settings.algorithm == Algorithm.ALLREDUCE || settings.elastic != null) {
      state.optimizer(PART, sgd, net);
    } else {
      state.ofEachRank(PART, TrainingState.builder().optimizer("momentum", sgd, net).build());
    }
  }

  /** The state of the optimizer, which is made for the first group. */
  private final class Moments implements Stateful {
    @Override
    public StateDict stateDict() {
      return requireNonNull(adam).stateDict();
    }

    @Override
    public void loadStateDict(StateDict state) {
      requireNonNull(adam).loadStateDict(state);
    }
  }

  /** Gives SGD this run's rate and momentum, whatever a checkpoint had. */
  @SuppressWarnings("try") // a scope works by being open
  void begin() {
    try (PointerScope scope = new PointerScope()) {
      SGDOptions options = new SGDOptions(sgd.param_groups().get(0).options());
      options.set_lr(settings.lr());
      options.momentum().put(settings.momentum);
    }
  }

  /** Changes the parameters by their gradients. */
  void update() {
    if (adam == null) {
      sgd.step();
    } else {
      adam.step();
    }
  }

  private void closeAdam() {
    if (adam != null) {
      adam.close();
      adam = null;
    }
  }

  @Override
  public void close() {
    closeAdam();
    sgd.close();
  }
}
