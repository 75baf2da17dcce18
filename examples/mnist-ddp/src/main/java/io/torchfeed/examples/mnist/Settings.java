// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static java.util.Objects.requireNonNull;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.OutputFolder;
import io.torchfeed.examples.common.ProgressMode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of a run, the same in the launcher and in its ranks. */
final class Settings {
  private static final String RESUME_LATEST = "";

  @Option(
      names = "--ranks",
      paramLabel = "N",
      description = "Java processes to train with (default: ${DEFAULT-VALUE}).")
  int ranks = 2;

  @Option(
      names = "--elastic",
      arity = "0..1",
      fallbackValue = "1",
      paramLabel = "MIN",
      description =
          "Continue when ranks are lost, and start others for them; train while at least MIN are"
              + " left (1 if none is given). On the CPU; continues from the checkpoints in --out,"
              + " and saves one on SIGTERM.")
  @Nullable Integer elastic;

  @Option(
      names = "--from-generation",
      paramLabel = "NAME",
      description =
          "With --elastic: run a generation of the run in --out again, such as 1.3, with as many"
              + " ranks as it had; saves nothing. java io.torchfeed.Torchfeed generations lists them.")
  @Nullable String fromGeneration;

  @Option(
      names = "--oversubscribe",
      description =
          "Start more processes than four for each processor, or than the memory allows for.")
  boolean oversubscribe;

  @Option(
      names = "--epochs",
      paramLabel = "N",
      description =
          "Passes over the 60,000 training samples in total, including those before a resume"
              + " (default: ${DEFAULT-VALUE}).")
  int epochs = 3;

  @Option(
      names = "--batch-size",
      paramLabel = "N",
      description =
          "Samples that each rank takes in one step; a step uses ranks x N samples"
              + " (default: ${DEFAULT-VALUE}).")
  int batchSize = 64;

  @Option(
      names = "--accumulate",
      paramLabel = "N",
      description =
          "Batches whose gradients are added up before they are averaged over the ranks and the"
              + " parameters change (default: ${DEFAULT-VALUE}).")
  int accumulate = 1;

  @Option(
      names = "--algorithm",
      paramLabel = "HOW",
      description =
          "The ranks' exchange: gradients in each step (allreduce), or weights: decentralized,"
              + " shift-one (an even number of ranks), low-precision, async or post-local (default: ${DEFAULT-VALUE}).")
  Algorithm algorithm = Algorithm.ALLREDUCE;

  @Option(
      names = "--comm",
      paramLabel = "HOW",
      description =
          "How gradients are sent: allreduce in full, or in fewer bytes: float16, bfloat16, bytegrad"
              + " or powersgd; qadam sends moments of Adam (default: ${DEFAULT-VALUE}).")
  Comm comm = Comm.ALLREDUCE;

  @Option(
      names = "--device",
      paramLabel = "NAME",
      description =
          "Where to train: cpu; cuda, a GPU of its own for each rank, over NCCL; cuda:N, one GPU for"
              + " all ranks; auto, cuda if there are enough GPUs (default: ${DEFAULT-VALUE}).")
  String device = TrainingDevice.CPU;

  @Option(
      names = "--lr",
      paramLabel = "X",
      description = "Learning rate (default: 0.03); with --comm qadam by default 0.001.")
  private @Nullable Double lr;

  @Option(
      names = "--momentum",
      paramLabel = "X",
      description = "Momentum of SGD, from 0 to below 1 (default: ${DEFAULT-VALUE}).")
  double momentum = 0.9;

  @Option(
      names = "--seed",
      paramLabel = "N",
      description =
          "Fixes the initial parameters, dropout and the order of the samples: the same seed and"
              + " number of ranks reproduce a run (default: ${DEFAULT-VALUE}).")
  long seed = 0;

  @Option(
      names = "--data",
      paramLabel = "DIR",
      description =
          "Folder with MNIST's four idx files, uncompressed (default: the user's cache, filled from"
              + " the network on the first run).")
  @Nullable Path data;

  @Option(
      names = "--augment",
      description =
          "Shift each training image by up to two pixels, at random in each epoch, in Java code on"
              + " the loader's workers.")
  boolean augment;

  @Option(
      names = "--workers",
      paramLabel = "N",
      description = "Loader threads per rank (default: ${DEFAULT-VALUE}).")
  int workers = 1;

  @Option(
      names = "--threads",
      paramLabel = "N",
      description =
          "Threads per operation in each rank; 0 divides the cores of this machine among the ranks"
              + " (default: ${DEFAULT-VALUE}).")
  private int threads = 0;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description =
          "Folder for metrics.csv, metrics.png and checkpoints/, created if missing (default: a"
              + " new folder runs/mnist-DATE-TIME).")
  private @Nullable Path out;

  @Option(
      names = "--resume",
      arity = "0..1",
      fallbackValue = RESUME_LATEST,
      paramLabel = "PATH",
      description =
          "Continue after the last good checkpoint of --out, or of the run folder or checkpoint"
              + " file PATH. Seed, ranks, batch size, --augment, --accumulate, --algorithm and --comm must"
              + " match the checkpoint.")
  private @Nullable String resume;

  @Option(
      names = "--progress",
      paramLabel = "HOW",
      description =
          "auto, bar or lines; auto draws a bar on a terminal and prints lines in a log (default:"
              + " auto).")
  ProgressMode progress = ProgressMode.AUTO;

  /** The folder with the data, which the launcher has verified. */
  @Option(names = "--verified-data", hidden = true)
  @Nullable Path verifiedData;

  /** The most steps of an epoch, for measurements; 0 for all. */
  @Option(names = "--max-steps", hidden = true)
  int maxSteps;

  private boolean isNewFolder;

  /**
   * Checks the options, and chooses a folder if none is given.
   *
   * @throws CommandException that is wrong use, if one cannot be used
   */
  void check() {
    if (fromGeneration != null && elastic == null) {
      throw CommandException.wrongUse("--from-generation needs --elastic");
    }
    requireIn("--ranks", ranks, 1, 1024);
    requireIn("--epochs", epochs, 1, 1_000_000);
    requireIn("--batch-size", batchSize, 1, 60_000);
    requireIn("--accumulate", accumulate, 1, 60_000);
    requireIn("--workers", workers, 1, 256);
    requireIn("--threads", threads, 0, 1024);
    require(lr() > 0 && lr() <= 100, "--lr must be in (0, 100], got " + lr());
    require(momentum >= 0 && momentum < 1, "--momentum must be in [0, 1), got " + momentum);
    require(seed >= 0 && seed >> 32 == 0, "--seed must be in [0, 4294967295], got " + seed);
    checkExchange();
    if (elastic != null) {
      checkElastic(elastic);
    }
    if (out == null) {
      require(
          resume == null || !resume.equals(RESUME_LATEST),
          "--resume needs a path, or --out with the folder of the run to continue");
      Path from = resume();
      out = from == null ? OutputFolder.ofNewRun("mnist") : RunStart.runOf(from);
      isNewFolder = true;
    }
  }

  private void checkExchange() {
    boolean isAllReduce = algorithm == Algorithm.ALLREDUCE;
    require(
        isAllReduce || accumulate == 1,
        "--accumulate needs --algorithm allreduce, got " + algorithm);
    require(
        isAllReduce || comm == Comm.ALLREDUCE,
        "--comm needs --algorithm allreduce, got " + algorithm);
    algorithm.requireRanks("--ranks", ranks);
    require(
        TrainingDevice.isChoice(device),
        "--device must be cpu, cuda, cuda:N or auto, got " + device);
    require(
        device.equals(TrainingDevice.CPU) || (isAllReduce && comm.isOnDevices()),
        "--device %s needs --algorithm allreduce, and --comm allreduce, float16 or bfloat16, got %s and %s"
            .formatted(device, algorithm, comm));
  }

  private void checkElastic(int least) {
    require(
        least >= 1 && least <= ranks,
        "--elastic must be in [1, --ranks], got %d with --ranks %d".formatted(least, ranks));
    require(
        device.equals(TrainingDevice.CPU) && !augment && resume == null,
        "--elastic excludes --device, --augment and --resume; it continues from the checkpoints in"
            + " --out");
    require(
        comm != Comm.QADAM || least >= 2 || ranks == 1,
        "--comm qadam does not continue with a single rank: --elastic must be at least 2, got "
            + least);
  }

  private static void requireIn(String option, int value, int least, int most) {
    require(
        value >= least && value <= most,
        option + " must be in [" + least + ", " + most + "], got " + value);
  }

  private static void require(boolean holds, String rule) {
    if (!holds) {
      throw CommandException.wrongUse(rule);
    }
  }

  double lr() {
    return lr != null ? lr : comm.defaultLearningRate();
  }

  /** Returns the folder of the run. */
  Path out() {
    return requireNonNull(out, "--out");
  }

  /** Returns the run folder or checkpoint to continue from, or null. */
  @Nullable Path resume() {
    return resume == null ? null : resume.equals(RESUME_LATEST) ? out : Path.of(resume);
  }

  /** Returns the threads per operation; by default the ranks of this machine share its cores. */
  int threadsPerRank() {
    return threads > 0 ? threads : Math.max(1, Runtime.getRuntime().availableProcessors() / ranks);
  }

  /**
   * Returns the arguments of a rank.
   *
   * @param given the arguments of the launcher
   * @param verified the folder with the data
   */
  List<String> ofRank(List<String> given, Path verified) {
    List<String> arguments = new ArrayList<>(given);
    if (verifiedData == null) {
      arguments.add("--verified-data=" + verified.toAbsolutePath());
    }
    if (isNewFolder) {
      arguments.add("--out=" + out().toAbsolutePath());
    }
    return List.copyOf(arguments);
  }
}
