// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.distributed.launch.LauncherBuilder;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.World;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.elastic.ElasticTraining;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.OutputFolder;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.bytedeco.pytorch.Tensor;

/**
 * The training of {@code --elastic}: the launcher and, in processes of their own, ranks that come
 * and go.
 */
final class ElasticRun {
  /** The steps from one checkpoint to the next. */
  private static final int EVERY_STEPS = 100;

  private ElasticRun() {}

  /**
   * Starts the ranks and waits for the end of the training.
   *
   * @param least the least number of ranks that train
   * @param isVerified whether {@code settings.data()} needs no check
   * @return the exit status
   */
  static int launch(Settings settings, int least, boolean isVerified) {
    requirePossible(settings, least);
    LauncherBuilder ranks =
        Launch.processes(settings)
            .ranks(least, settings.ranks())
            .mainClass(ElasticRun.class)
            .events(event -> System.out.println("coordinator: " + event.text()));
    Path data =
        isVerified && settings.data() != null
            ? settings.data()
            : MnistFolder.ofUser(System.err::println).locate(settings.data());
    OutputFolder.create(settings.out());
    System.out.printf(
        "Training with %d to %d processes; checkpoints go to %s%n",
        least, settings.ranks(), settings.out());
    return Launch.run(ranks, arguments(settings, data));
  }

  private static void requirePossible(Settings settings, int least) {
    if (least < 1 || least > settings.ranks()) {
      throw CommandException.wrongUse(
          "--elastic must be in [1, --ranks], got %d with --ranks %d"
              .formatted(least, settings.ranks()));
    }
    if (settings.accumulate() > 1
        || settings.algorithm() != Algorithm.ALLREDUCE
        || settings.comm() != Comm.ALLREDUCE
        || !settings.device().equals(TrainingDevice.CPU)
        || settings.augment()
        || settings.resume() != null) {
      throw CommandException.wrongUse(
          "--elastic excludes --accumulate, --algorithm, --comm, --device, --augment and --resume;"
              + " it continues from the checkpoints in --out");
    }
  }

  private static List<String> arguments(Settings settings, Path data) {
    return List.of(
        data.toAbsolutePath().toString(),
        settings.out().resolve("checkpoints").toAbsolutePath().toString(),
        String.valueOf(settings.ranks() * settings.batchSize()),
        String.valueOf(settings.seed()),
        String.valueOf(settings.lr()),
        String.valueOf(settings.epochs()),
        String.valueOf(settings.threadsPerRank()));
  }

  /**
   * Trains as one rank.
   *
   * @param arguments of the launcher
   */
  public static void main(String[] arguments) throws InterruptedException {
    Path data = Path.of(arguments[0]);
    int globalBatch = Integer.parseInt(arguments[2]);
    long seed = Long.parseLong(arguments[3]);
    ElasticModel.useThreads(Integer.parseInt(arguments[6]));
    int samples = MnistTensors.open(data, MnistFile.TRAIN_IMAGES, MnistFile.TRAIN_LABELS).size();
    ElasticModel.Plan plan = new ElasticModel.Plan(samples, globalBatch, seed);
    try (Membership membership = Membership.fromEnvironment();
        TensorDataset train = ElasticModel.data(data, samples);
        ElasticModel model = ElasticModel.of(seed, Double.parseDouble(arguments[4]));
        Checkpoints checkpoints = Checkpoints.open(Path.of(arguments[1]))) {
      ElasticModel.warmUp(globalBatch);
      World[] world = new World[1];
      ElasticTraining.builder(
              membership, group -> DistributedDataParallel.wrap(model.module(), group))
          .state(model::addTo)
          .loader(part -> plan.loader(train, part))
          .epochs(Long.parseLong(arguments[5]))
          .seed(seed)
          .checkpoints(checkpoints, EVERY_STEPS)
          .whenChanged(now -> world[0] = now)
          .afterEpoch((wrapped, epoch) -> evaluate(model, data, world[0], epoch))
          .build()
          .run(
              (wrapped, batch) -> {
                model.zeroGrad();
                Tensor loss = model.loss(batch);
                wrapped.backward(loss);
                model.update();
              });
    }
  }

  /** Prints the accuracy on one rank; the others wait for it in their next step. */
  private static void evaluate(ElasticModel model, Path data, World world, long epoch) {
    if (world.rank() == 0) {
      System.out.printf(
          Locale.ROOT,
          "epoch %d of %d ranks: test accuracy %.2f %%%n",
          epoch + 1,
          world.size(),
          100 * model.accuracy(data));
    }
  }
}
