// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.training.DataParallelOptions;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ModelAveraging;
import io.torchfeed.distributed.training.QAdam;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Tensor;

/** The model of one rank, which an algorithm keeps in agreement with the others. */
interface Replica extends AutoCloseable {
  /** Adds the gradients of a loss to the next step's. */
  void accumulate(Supplier<Tensor> loss);

  /**
   * Runs a training step.
   *
   * @param loss runs the forward pass
   * @param update changes the parameters
   */
  void step(Supplier<Tensor> loss, Runnable update);

  /** Creates the optimizer whose moments are exchanged instead of gradients. */
  QAdam adam(QAdam.Options options);

  /** Makes the parameters of all ranks equal, and returns their digest. */
  String agree();

  /** Returns the wrapper that keeps something from step to step. */
  Stateful kept();

  /** Returns the time waited for other ranks after the last gradients. */
  long reductionNanos();

  /** Returns the share of the communication that was hidden behind computation, in [0, 1]. */
  double overlapShare();

  @Override
  void close();

  static Replica of(Net net, ProcessGroup group, Settings settings) {
    return settings.algorithm() == Algorithm.ALLREDUCE
        ? new Reduced(
            DistributedDataParallel.wrap(
                net,
                group,
                DataParallelOptions.defaults().withExchange(settings.comm().exchange())))
        : new Averaged(ModelAveraging.of(net, group, settings.algorithm().averaging()));
  }

  /** A model whose gradients are averaged. */
  record Reduced(DistributedDataParallel model) implements Replica {
    @Override
    @SuppressWarnings("try") // a scope works by being open
    public void accumulate(Supplier<Tensor> loss) {
      try (var accumulating = model.noSync()) {
        model.backward(loss.get());
      }
    }

    @Override
    public void step(Supplier<Tensor> loss, Runnable update) {
      model.backward(loss.get());
      update.run();
    }

    @Override
    public QAdam adam(QAdam.Options options) {
      return QAdam.of(model, options);
    }

    @Override
    public String agree() {
      return model.verifyReplicas();
    }

    @Override
    public Stateful kept() {
      return model;
    }

    @Override
    public long reductionNanos() {
      return model.reductionNanos();
    }

    @Override
    public double overlapShare() {
      return model.stats().overlapShare();
    }

    @Override
    public void close() {
      model.close();
    }
  }

  /** A model whose weights are exchanged. */
  record Averaged(ModelAveraging model) implements Replica {
    @Override
    public void accumulate(Supplier<Tensor> loss) {
      throw new IllegalStateException("only gradients that are averaged are accumulated");
    }

    @Override
    public void step(Supplier<Tensor> loss, Runnable update) {
      model.step(() -> loss.get().backward(), update);
    }

    @Override
    public QAdam adam(QAdam.Options options) {
      throw new IllegalStateException("only ranks that average gradients exchange moments");
    }

    @Override
    public String agree() {
      model.average();
      return model.verifyReplicas();
    }

    @Override
    public Stateful kept() {
      return model;
    }

    @Override
    public long reductionNanos() {
      return 0;
    }

    @Override
    public double overlapShare() {
      return 0;
    }

    @Override
    public void close() {
      model.close();
    }
  }
}
