// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import java.io.IOException;
import java.nio.file.Path;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/** The training of one rank. */
final class Training {
  private static final double MOMENTUM = 0.9;
  private static final double WEIGHT_DECAY = 1e-4;

  /**
   * The settings that only training has.
   *
   * @param data folder of the images
   * @param size height and width of the net's input
   * @param epochs passes over the training images
   * @param lr learning rate at the start
   * @param augmentation changes of the training images
   * @param seed of parameters, order and random parts
   * @param out folder of the results
   */
  record Options(
      Path data,
      int size,
      int epochs,
      double lr,
      Images.Augmentation augmentation,
      long seed,
      Path out) {}

  private final ProcessGroup group;
  private final Loading loading;
  private final Options options;

  Training(ProcessGroup group, Loading loading, Options options) {
    this.group = group;
    this.loading = loading;
    this.options = options;
  }

  void run() throws IOException {
    Images images = Images.training(options.data(), options.size(), options.augmentation());
    Images test = Images.test(options.data(), options.size());
    DataFolder.requireSameClasses(images.classes(), test.classes());
    boolean isFirst = group.rank() == 0;
    if (isFirst) {
      SampleSheet.write(
          Images.toLookAt(options.data(), options.size(), options.augmentation()),
          options.seed(),
          options.out().resolve("samples.png"));
    }
    torch.manual_seed(options.seed());
    Metrics metrics = new Metrics(options.out());
    try (NativeDataset rows = images.open();
        NativeDataset testRows = test.open();
        ResNet net = new ResNet(images.classes().size());
        DistributedDataParallel model = DistributedDataParallel.wrap(net, group);
        TensorVector parameters = net.parameters();
        SGD optimizer = new SGD(parameters, rates());
        DataLoader loader =
            DataLoader.over(rows)
                .sampler(DistributedRandomSampler.of(rows.size(), group.part()))
                .batchSize(loading.batchSize())
                .workers(loading.workers())
                .seed(options.seed())
                .build()) {
      for (int epoch = 1; epoch <= options.epochs(); epoch++) {
        Pass pass = new Pass(model, net, optimizer, loader);
        pass.run(epoch);
        model.verifyReplicas();
        Evaluation evaluation = Evaluation.of(net, testRows, group, loading);
        if (isFirst) {
          metrics.add(
              new Metrics.Row(
                  epoch,
                  pass.meanLoss(),
                  evaluation.accuracy(),
                  pass.seconds(),
                  pass.images * group.size() / pass.seconds(),
                  pass.waitShare()));
          new TrainedNet(net, options.size(), images.classes())
              .save(options.out().resolve("model.pt"));
        }
      }
    }
  }

  private SGDOptions rates() {
    SGDOptions rates = new SGDOptions(options.lr());
    rates.momentum().put(MOMENTUM);
    rates.weight_decay().put(WEIGHT_DECAY);
    return rates;
  }

  /** One epoch. */
  private final class Pass {
    private final DistributedDataParallel model;
    private final ResNet net;
    private final SGD optimizer;
    private final DataLoader loader;
    private double loss;
    private long steps;
    private long images;
    private long waitNanos;
    private long nanos;

    Pass(DistributedDataParallel model, ResNet net, SGD optimizer, DataLoader loader) {
      this.model = model;
      this.net = net;
      this.optimizer = optimizer;
      this.loader = loader;
    }

    void run(int epoch) {
      long start = System.nanoTime();
      try (Batches batches = loader.epoch(options.seed() + epoch - 1)) {
        while (batches.hasNext()) {
          double done = (epoch - 1 + steps / (double) loader.batches()) / options.epochs();
          step(batches.next(), options.lr() * (1 + Math.cos(Math.PI * done)) / 2);
        }
        waitNanos = batches.waitNanos();
      }
      nanos = System.nanoTime() - start;
    }

    @SuppressWarnings("try") // a scope works by being open
    private void step(Batch batch, double lr) {
      try (PointerScope scope = new PointerScope()) {
        new SGDOptions(optimizer.param_groups().get(0).options()).set_lr(lr);
        optimizer.zero_grad();
        Tensor value = cross_entropy_loss(net.forward(batch.tensor(0)), batch.tensor(1));
        model.backward(value);
        optimizer.step();
        loss += value.item_float();
        images += batch.size();
        steps++;
      }
    }

    double meanLoss() {
      return loss / steps;
    }

    double seconds() {
      return nanos / 1e9;
    }

    double waitShare() {
      return waitNanos / (double) nanos;
    }
  }
}
