// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.distributed.launch.LauncherBuilder;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.elastic.ElasticRanks;
import io.torchfeed.elastic.Generation;
import io.torchfeed.elastic.Generations;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.OutputFolder;
import io.torchfeed.training.Step;
import io.torchfeed.training.TrainingLoop;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The training of {@code --elastic}: the launcher and, in processes of their own, elastic ranks.
 */
final class ElasticRun {
  /** The steps from one checkpoint to the next. */
  private static final int EVERY_STEPS = 100;

  /** In addition to the checkpoints of a plain run, whose steps are epochs. */
  private static final String CHECKPOINTS = "elastic-checkpoints";

  /** The generations that can be run again. */
  private static final int GENERATIONS = 5;

  private ElasticRun() {}

  /**
   * Starts the ranks and waits for the end of the training.
   *
   * @param least the least number of ranks that train
   * @param generation the name of a generation of the run to be run again, or null
   * @param isVerified whether {@code settings.data()} needs no check
   * @return the exit status
   */
  static int launch(Settings settings, int least, @Nullable String generation, boolean isVerified) {
    requirePossible(settings, least);
    LauncherBuilder ranks =
        Launch.processes(settings)
            .mainClass(ElasticRun.class)
            .events(event -> System.out.println("coordinator: " + event.text()));
    if (generation == null) {
      ranks.elasticRanks(least, settings.ranks());
    } else {
      Generation again = find(settings, generation);
      ranks.elasticRanks(again.ranks(), again.ranks());
      ranks.environment("TORCHFEED_FROM_GENERATION", again.name());
    }
    Path data =
        isVerified && settings.data() != null
            ? settings.data()
            : MnistFolder.ofUser(System.err::println).locate(settings.data());
    OutputFolder.create(settings.out());
    System.out.printf(
        "Training with %d to %d processes; checkpoints go to %s%n",
        least, settings.ranks(), settings.out().resolve(CHECKPOINTS));
    return Launch.run(ranks, arguments(settings, data));
  }

  private static Generation find(Settings settings, String name) {
    try (Generations generations = generations(settings.out())) {
      return generations.find(name);
    } catch (IllegalArgumentException e) {
      throw CommandException.wrongUse(String.valueOf(e.getMessage()), e);
    }
  }

  private static Generations generations(Path out) {
    return Generations.open(out.resolve("generations"), GENERATIONS);
  }

  private static void requirePossible(Settings settings, int least) {
    if (least < 1 || least > settings.ranks()) {
      throw CommandException.wrongUse(
          "--elastic must be in [1, --ranks], got %d with --ranks %d"
              .formatted(least, settings.ranks()));
    }
    if (!settings.device().equals(TrainingDevice.CPU)
        || settings.augment()
        || settings.resume() != null) {
      throw CommandException.wrongUse(
          "--elastic excludes --device, --augment and --resume; it continues from the checkpoints"
              + " in --out");
    }
    if (settings.comm() == Comm.QADAM && least < 2 && settings.ranks() > 1) {
      throw CommandException.wrongUse(
          "--comm qadam does not continue with a single rank: --elastic must be at least 2, got "
              + least);
    }
  }

  private static List<String> arguments(Settings settings, Path data) {
    return List.of(
        data.toAbsolutePath().toString(),
        settings.out().toAbsolutePath().toString(),
        String.valueOf(settings.ranks() * settings.batchSize()),
        String.valueOf(settings.seed()),
        String.valueOf(settings.lr()),
        String.valueOf(settings.epochs()),
        String.valueOf(settings.threadsPerRank()),
        String.valueOf(settings.accumulate()),
        settings.algorithm().name(),
        settings.comm().name());
  }

  /**
   * Trains as one rank.
   *
   * @param arguments of the launcher
   */
  public static void main(String[] arguments) throws InterruptedException {
    Path data = Path.of(arguments[0]);
    Path out = Path.of(arguments[1]);
    int globalBatch = Integer.parseInt(arguments[2]);
    long seed = Long.parseLong(arguments[3]);
    double learningRate = Double.parseDouble(arguments[4]);
    int accumulate = Integer.parseInt(arguments[7]);
    ElasticModel.useThreads(Integer.parseInt(arguments[6]));
    int samples = MnistTensors.open(data, MnistFile.TRAIN_IMAGES, MnistFile.TRAIN_LABELS).size();
    ElasticModel.Plan plan = new ElasticModel.Plan(samples, globalBatch, seed);
    try (Membership membership = Membership.fromEnvironment();
        TensorDataset train = ElasticModel.data(data, samples);
        ElasticModel model = ElasticModel.of(seed, learningRate);
        ElasticWays ways =
            ElasticWays.of(
                model, Algorithm.valueOf(arguments[8]), Comm.valueOf(arguments[9]), learningRate);
        Checkpoints checkpoints = Checkpoints.open(out.resolve(CHECKPOINTS));
        Generations generations = generations(out)) {
      membership.leaveOnTermination();
      ElasticModel.warmUp(globalBatch);
      TrainingLoop.over(ElasticRanks.of(membership).withGenerations(generations), ways::wrap)
          .state(ways::addTo)
          .loader(part -> plan.loader(train, part))
          .epochs(Long.parseLong(arguments[5]))
          .accumulate(accumulate)
          .seed(seed)
          .checkpoints(checkpoints, EVERY_STEPS)
          .afterEpoch((wrapped, step) -> evaluate(model, data, step))
          .build()
          .run((step, wrapped, batch) -> share(model.loss(batch), accumulate), ways::update);
    }
  }

  /** Returns the part of a loss in the mean over the batches of a step. */
  private static Tensor share(Tensor loss, int batches) {
    return batches == 1 ? loss : loss.div(new Scalar((double) batches));
  }

  /** Prints the accuracy on one rank; the others wait for it in their next step. */
  private static void evaluate(ElasticModel model, Path data, Step step) {
    if (step.rank() == 0) {
      System.out.printf(
          Locale.ROOT,
          "epoch %d of %d ranks: test accuracy %.2f %%%n",
          step.epoch() + 1,
          step.worldSize(),
          100 * model.accuracy(data));
    }
  }
}
