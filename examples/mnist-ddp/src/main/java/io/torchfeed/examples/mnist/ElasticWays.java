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
import org.jspecify.annotations.Nullable;

/** The ways of {@code --algorithm} and {@code --comm} for elastic ranks. */
final class ElasticWays implements AutoCloseable {
  private final ElasticModel model;
  private final Algorithm algorithm;
  private final Comm comm;
  private final double learningRate;
  private @Nullable QAdam adam;

  private ElasticWays(ElasticModel model, Algorithm algorithm, Comm comm, double learningRate) {
    this.model = model;
    this.algorithm = algorithm;
    this.comm = comm;
    this.learningRate = learningRate;
  }

  static ElasticWays of(ElasticModel model, Algorithm algorithm, Comm comm, double learningRate) {
    return new ElasticWays(model, algorithm, comm, learningRate);
  }

  ReplicatedModel wrap(ProcessGroup group) {
    if (algorithm == Algorithm.ALLREDUCE) {
      return averagingGradients(group);
    }
    AveragingAlgorithm averaging =
        algorithm == Algorithm.SHIFT_ONE
            ? algorithm.averaging().withAllIfOdd()
            : algorithm.averaging();
    return ModelAveraging.wrap(model.module(), group, averaging);
  }

  private DistributedDataParallel averagingGradients(ProcessGroup group) {
    DistributedDataParallel wrapped =
        DistributedDataParallel.wrap(
            model.module(), group, DataParallelOptions.defaults().withExchange(comm.exchange()));
    if (comm == Comm.QADAM) {
      close(); // of a wrapper before
      adam = QAdam.of(wrapped, Comm.adam(learningRate));
    }
    return wrapped;
  }

  void addTo(TrainingState.Builder state) {
    if (comm == Comm.QADAM) {
      state.module("model", model.module()).part("optimizer", new Moments());
    } else {
      model.addTo(state);
    }
  }

  /** The state of the optimizer, which is made when the first group is there. */
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

  void update() {
    if (adam == null) {
      model.update();
    } else {
      adam.step();
    }
  }

  @Override
  public void close() {
    if (adam != null) {
      adam.close();
      adam = null;
    }
  }
}
