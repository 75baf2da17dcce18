// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.World;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.elastic.ElasticRanks;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.training.TrainingLoop;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** A rank of the benchmark of joins: the net, its optimizer, and random data. */
final class JoinRank implements AutoCloseable {
  private static final int SAMPLES = 4096;
  private static final int BATCH = 32;
  private static final int WARM_UP_STEPS = 3;

  private final MnistNet net = new MnistNet();
  private final SGD optimizer;
  private final TensorDataset data;

  JoinRank() {
    try (SGDOptions options = new SGDOptions(0.01)) {
      options.momentum().put(0.9);
      optimizer = new SGD(net.parameters(), options);
    }
    long[] labelShape = {SAMPLES};
    try (Tensor images = torch.randn(SAMPLES, 1, 28, 28);
        Tensor labels = torch.randint(0, 10, labelShape, new TensorOptions(ScalarType.Long))) {
      data = TensorDataset.of(images, labels);
    }
  }

  private DataLoader loader(Part part) {
    return DataLoader.over(data)
        .sampler(ShuffledSampler.of(SAMPLES, part, 1))
        .batchSize(BATCH / part.worldSize())
        .build();
  }

  private Tensor loss(Batch batch) {
    return nll_loss(net.forward(batch.tensor(0)), batch.tensor(1));
  }

  /** Runs the code of steps, as a program does before it joins others. */
  @SuppressWarnings("try") // a scope works by being open
  void warmUp() {
    try (DataLoader loader = loader(Part.whole());
        Batches batches = loader.epoch(0)) {
      for (int i = 0; i < WARM_UP_STEPS; i++) {
        try (PointerScope scope = new PointerScope()) {
          optimizer.zero_grad();
          loss(batches.next()).backward();
          optimizer.step();
        }
      }
    }
  }

  /** Trains until this rank leaves; {@code ended} follows each step. */
  void train(Membership membership, Consumer<World> entered, Runnable ended)
      throws InterruptedException {
    ElasticRanks ranks = ElasticRanks.of(membership);
    TrainingLoop.over(ranks, group -> DistributedDataParallel.wrap(net, group))
        .state(all -> all.module("model", net).optimizer("optimizer", optimizer, net))
        .loader(this::loader)
        .epochs(Long.MAX_VALUE)
        .whenChanged(step -> entered.accept(ranks.world()))
        .build()
        .run(
            (step, model, batch) -> loss(batch),
            () -> {
              optimizer.step();
              ended.run();
            });
  }

  @Override
  public void close() {
    data.close();
    optimizer.close();
    net.close();
  }
}
