// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.elastic.ElasticRanks;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.training.TrainingLoop;
import java.util.Arrays;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Times the steps of an epoch of two ranks, by the training loop and by the same statements. */
final class ElasticSteps implements AutoCloseable {
  private static final int BATCH = 32;
  private static final int SKIPPED = 5;

  private final int steps;
  private final MnistNet[] nets = {new MnistNet(), new MnistNet()};
  private final SGD[] optimizers = {optimizer(nets[0]), optimizer(nets[1])};
  private final TensorDataset data;

  ElasticSteps(int steps) {
    this.steps = steps;
    int samples = steps * BATCH * TwoRanks.RANKS;
    long[] labelShape = {samples};
    try (Tensor images = torch.randn(samples, 1, 28, 28);
        Tensor labels = torch.randint(0, 10, labelShape, new TensorOptions(ScalarType.Long))) {
      data = TensorDataset.of(images, labels);
    }
  }

  private static SGD optimizer(MnistNet net) {
    SGDOptions options = new SGDOptions(0.01);
    options.momentum().put(0.9);
    return new SGD(net.parameters(), options);
  }

  private DataLoader loader(Part part) {
    return DataLoader.over(data)
        .sampler(ShuffledSampler.of(data.size(), part, 1))
        .batchSize(BATCH)
        .build();
  }

  private Tensor loss(int rank, Batch batch) {
    return nll_loss(nets[rank].forward(batch.tensor(0)), batch.tensor(1));
  }

  private void step(int rank, DistributedDataParallel model, Batch batch) {
    optimizers[rank].zero_grad();
    model.backward(loss(rank, batch));
    optimizers[rank].step();
  }

  /**
   * Returns the median milliseconds from the begin of a step to the next, by a TrainingLoop over
   * ElasticRanks.
   */
  double elastic() throws InterruptedException {
    long[] begins = new long[steps];
    try (Coordinator coordinator =
        Coordinator.listen("127.0.0.1", 0, CoordinatorOptions.of(TwoRanks.RANKS, TwoRanks.RANKS))) {
      TwoRanks.run(
          thread -> {
            try (Membership membership = Membership.join("127.0.0.1", coordinator.port())) {
              TrainingLoop.over(
                      ElasticRanks.of(membership),
                      group -> DistributedDataParallel.wrap(nets[thread], group))
                  .state(
                      all ->
                          all.module("model", nets[thread])
                              .optimizer("optimizer", optimizers[thread], nets[thread]))
                  .loader(this::loader)
                  .build()
                  .run(
                      (step, model, batch) -> {
                        if (thread == 0) {
                          begins[(int) step.number()] = System.nanoTime();
                        }
                        return loss(thread, batch);
                      },
                      optimizers[thread]::step);
            }
          });
    }
    return medianMillis(begins);
  }

  /** Returns the same of a loop without membership. */
  @SuppressWarnings("try") // a scope works by being open
  double plain() throws InterruptedException {
    long[] begins = new long[steps];
    TwoRanks.inGroup(
        group -> {
          int rank = group.rank();
          try (DistributedDataParallel model = DistributedDataParallel.wrap(nets[rank], group);
              DataLoader loader = loader(group.part());
              Batches batches = loader.epoch(0)) {
            for (int i = 0; batches.hasNext(); i++) {
              Batch batch = batches.next();
              try (PointerScope scope = new PointerScope()) {
                if (rank == 0) {
                  begins[i] = System.nanoTime();
                }
                step(rank, model, batch);
              }
            }
          }
        });
    return medianMillis(begins);
  }

  private static double medianMillis(long[] begins) {
    double[] millis = new double[begins.length - 1 - SKIPPED];
    for (int i = 0; i < millis.length; i++) {
      millis[i] = (begins[i + 1 + SKIPPED] - begins[i + SKIPPED]) / 1e6;
    }
    Arrays.sort(millis);
    return millis[millis.length / 2];
  }

  @Override
  public void close() {
    data.close();
    for (int rank = 0; rank < TwoRanks.RANKS; rank++) {
      optimizers[rank].close();
      nets[rank].close();
    }
  }
}
