// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import static org.bytedeco.pytorch.global.torch.cross_entropy_loss;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.examples.common.EpochClock;
import io.torchfeed.examples.common.SeededSampler;
import io.torchfeed.examples.common.StepCurve;
import io.torchfeed.metric.Accuracy;
import io.torchfeed.metric.Evaluation;
import io.torchfeed.metric.MetricCollection;
import io.torchfeed.training.LearningRate;
import io.torchfeed.training.LoopMonitor;
import io.torchfeed.training.Ranks;
import io.torchfeed.training.Schedule;
import io.torchfeed.training.Step;
import io.torchfeed.training.TrainingLoop;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Map;
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
  private final Metrics metrics;
  private final Accuracy accuracy = Accuracy.create();

  Training(ProcessGroup group, Loading loading, Options options) {
    this.group = group;
    this.loading = loading;
    this.options = options;
    this.metrics = new Metrics(options.out());
  }

  /** Trains all epochs; rank 0 writes the results after each. */
  void run() throws IOException, InterruptedException {
    Images images = Images.training(options.data(), options.size(), options.augmentation());
    Images test = Images.test(options.data(), options.size());
    DataFolder.requireSameClasses(images.classes(), test.classes());
    if (group.rank() == 0) {
      SampleSheet.write(
          Images.toLookAt(options.data(), options.size(), options.augmentation()),
          options.seed(),
          options.out().resolve("samples.png"));
    }
    torch.manual_seed(options.seed());
    try (NativeDataset rows = images.open();
        NativeDataset testRows = test.open();
        ResNet net = new ResNet(images.classes().size());
        TensorVector parameters = net.parameters();
        SGD optimizer = new SGD(parameters, rates());
        DataLoader loader =
            DataLoader.over(rows)
                .sampler(SeededSampler.of(rows.size(), group.part(), options.seed()))
                .batchSize(loading.batchSize())
                .workers(loading.workers())
                .seed(options.seed())
                .build()) {
      EpochClock clock = EpochClock.start(loader);
      TrainedNet trained = new TrainedNet(net, options.size(), images.classes());
      TrainingLoop.over(Ranks.of(group), all -> DistributedDataParallel.wrap(net, all))
          .state(all -> all.module("model", net).optimizer("optimizer", optimizer, net))
          .loader(loader)
          .epochs(options.epochs())
          .seed(options.seed())
          .learningRate(
              LearningRate.perStep(optimizer, Schedule.cosine(options.epochs() * loader.batches())))
          .monitor(
              LoopMonitor.curves(
                  options.out(), StepCurve.interval(options.epochs() * loader.batches())))
          .afterEpoch(
              (model, step) -> {
                double seconds = clock.seconds();
                double waitShare = clock.waitSeconds() / seconds;
                model.verifyReplicas();
                evaluate(net, testRows);
                report(step, clock, seconds, waitShare, trained);
                clock.restart();
              })
          .build()
          .run((step, model, batch) -> loss(net, batch, clock), optimizer::step);
    }
  }

  private static Tensor loss(ResNet net, Batch batch, EpochClock clock) {
    Tensor loss = cross_entropy_loss(net.forward(batch.tensor("image")), batch.tensor("label"));
    clock.count(batch.size(), loss.item_float());
    return loss;
  }

  /** Evaluates each image on one rank. */
  private void evaluate(ResNet net, NativeDataset images) {
    Evaluation.of(net, MetricCollection.of(Map.of("accuracy", accuracy)))
        .run(
            group,
            loading.of(images),
            batch -> accuracy.update(net.forward(batch.tensor("image")), batch.tensor("label")));
  }

  private SGDOptions rates() {
    SGDOptions rates = new SGDOptions(options.lr());
    rates.momentum().put(MOMENTUM);
    rates.weight_decay().put(WEIGHT_DECAY);
    return rates;
  }

  private void report(
      Step step, EpochClock clock, double seconds, double waitShare, TrainedNet trained) {
    if (step.rank() != 0) {
      return;
    }
    try {
      metrics.add(
          new Metrics.Row(
              Math.toIntExact(step.epoch() + 1),
              clock.lossSum() / clock.batches(),
              accuracy.compute(),
              seconds,
              clock.rows() * step.worldSize() / seconds,
              waitShare));
      trained.save(options.out().resolve("model.pt"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
