// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.Commands;
import io.torchfeed.examples.common.OutputFolder;
import io.torchfeed.examples.common.ProgressMode;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * The command line. Started by hand, it is the launcher: it downloads the data and starts one
 * process per rank. With {@code RANK} in the environment (set by the launcher, or by torchrun and
 * similar tools), it is that rank.
 */
@Command(
    name = "train",
    description = {
      "Trains PyTorch's MNIST convnet with several Java processes on this machine.",
      "Each process (a rank) sees its own part of the samples; gradients are averaged after each"
          + " step, so all ranks hold the same parameters."
    },
    footer = {
      "",
      "Example: train --ranks 2 --epochs 3 --out runs/first",
      "Resume:  train --ranks 2 --epochs 6 --out runs/first --resume",
      "Exit status: 0 trained, 1 failed, 2 options, files named by them, or environment variables"
          + " that cannot be used."
    })
final class Main implements Callable<Integer> {
  private static final String RESUME_LATEST = "";

  @Option(
      names = "--ranks",
      paramLabel = "N",
      description = "Java processes to train with (default: ${DEFAULT-VALUE}).")
  private int ranks = 2;

  @Option(
      names = "--elastic",
      arity = "0..1",
      fallbackValue = "1",
      paramLabel = "MIN",
      description =
          "Continue when ranks are lost, and start others for them; train while at least MIN are"
              + " left (1 if none is given). On the CPU; continues from the checkpoints in --out,"
              + " and saves one on SIGTERM.")
  private @Nullable Integer elastic;

  @Option(
      names = "--from-generation",
      paramLabel = "NAME",
      description =
          "With --elastic: run a generation of the run in --out again, such as 1.3, with as many"
              + " ranks as it had; saves nothing. java io.torchfeed.Torchfeed generations lists them.")
  private @Nullable String fromGeneration;

  @Option(
      names = "--oversubscribe",
      description =
          "Start more processes than four for each processor, or than the memory allows for.")
  private boolean oversubscribe;

  @Option(
      names = "--epochs",
      paramLabel = "N",
      description =
          "Passes over the 60,000 training samples in total, including those before a resume"
              + " (default: ${DEFAULT-VALUE}).")
  private int epochs = 3;

  @Option(
      names = "--batch-size",
      paramLabel = "N",
      description =
          "Samples that each rank takes in one step; a step uses ranks x N samples"
              + " (default: ${DEFAULT-VALUE}).")
  private int batchSize = 64;

  @Option(
      names = "--accumulate",
      paramLabel = "N",
      description =
          "Batches whose gradients are added up before they are averaged over the ranks and the"
              + " parameters change (default: ${DEFAULT-VALUE}).")
  private int accumulate = 1;

  @Option(
      names = "--algorithm",
      paramLabel = "HOW",
      description =
          "The ranks' exchange: gradients in each step (allreduce), or weights: decentralized,"
              + " shift-one (an even number of ranks), low-precision, async or post-local (default: ${DEFAULT-VALUE}).")
  private Algorithm algorithm = Algorithm.ALLREDUCE;

  @Option(
      names = "--comm",
      paramLabel = "HOW",
      description =
          "How gradients are sent: allreduce in full, or in fewer bytes: float16, bfloat16, bytegrad"
              + " or powersgd; qadam sends moments of Adam (default: ${DEFAULT-VALUE}).")
  private Comm comm = Comm.ALLREDUCE;

  @Option(
      names = "--device",
      paramLabel = "NAME",
      description =
          "Where to train: cpu; cuda, a GPU of its own for each rank, over NCCL; cuda:N, one GPU for"
              + " all ranks; auto, cuda if there are enough GPUs (default: ${DEFAULT-VALUE}).")
  private String device = TrainingDevice.CPU;

  @Option(
      names = "--lr",
      paramLabel = "X",
      description = "Learning rate (default: 0.03); with --comm qadam by default 0.001.")
  private @Nullable Double lr;

  @Option(
      names = "--momentum",
      paramLabel = "X",
      description = "Momentum of SGD, from 0 to below 1 (default: ${DEFAULT-VALUE}).")
  private double momentum = 0.9;

  @Option(
      names = "--seed",
      paramLabel = "N",
      description =
          "Fixes the initial parameters, dropout and the order of the samples: the same seed and"
              + " number of ranks reproduce a run (default: ${DEFAULT-VALUE}).")
  private long seed = 0;

  @Option(
      names = "--data",
      paramLabel = "DIR",
      description =
          "Folder with MNIST's four idx files, uncompressed (default: the user's cache, filled from"
              + " the network on the first run).")
  private @Nullable Path data;

  @Option(
      names = "--augment",
      description =
          "Shift each training image by up to two pixels, at random in each epoch, in Java code on"
              + " the loader's workers.")
  private boolean augment;

  @Option(
      names = "--workers",
      paramLabel = "N",
      description = "Loader threads per rank (default: ${DEFAULT-VALUE}).")
  private int workers = 1;

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
  private ProgressMode progress = ProgressMode.AUTO;

  @Option(names = "--verified-data", hidden = true)
  private @Nullable Path verifiedData;

  @Option(names = "--json", hidden = true)
  private @Nullable Path json;

  @Option(names = "--max-steps", hidden = true)
  private int maxSteps;

  @Option(names = "--bare-steps", hidden = true)
  private int bareSteps;

  private final Map<String, String> environment;

  Main(Map<String, String> environment) {
    this.environment = environment;
  }

  /**
   * Runs the launcher or a rank and ends the process.
   *
   * @param arguments see {@code --help}
   */
  public static void main(String[] arguments) {
    if (System.getenv().containsKey("RANK")) {
      LibtorchLoading.start();
    }
    System.exit(commandLine(System.getenv()).execute(arguments));
  }

  static CommandLine commandLine(Map<String, String> environment) {
    return commandLine(new Main(environment));
  }

  static CommandLine commandLine(Main main) {
    return training(main).registerConverter(Algorithm.class, Algorithm::of);
  }

  /** Returns the command line of a command that trains. */
  static CommandLine training(Object command) {
    return Commands.of(command, List.of(), List.of(PeerLostException.class));
  }

  @Override
  public Integer call() {
    Settings settings = settings();
    if (elastic != null) {
      return ElasticRun.launch(settings, elastic, fromGeneration, verifiedData != null);
    }
    if (fromGeneration != null) {
      throw CommandException.wrongUse("--from-generation needs --elastic");
    }
    if (environment.containsKey("RANK")) {
      return Training.run(settings, verifiedData != null);
    }
    return Launch.run(settings);
  }

  Settings settings() {
    Path resumePath = resumePath();
    Path run = out;
    if (run == null) {
      run = resumePath == null ? OutputFolder.ofNewRun("mnist") : RunCheckpoints.runOf(resumePath);
    }
    try {
      return new Settings(
          ranks,
          oversubscribe,
          epochs,
          batchSize,
          accumulate,
          algorithm,
          comm,
          device,
          lr != null ? lr : comm.defaultLearningRate(),
          momentum,
          seed,
          verifiedData != null ? verifiedData : data,
          augment,
          workers,
          threads,
          run,
          resumePath,
          progress.isBar(),
          new Settings.Bench(json, maxSteps, bareSteps));
    } catch (IllegalArgumentException e) {
      throw CommandException.wrongUse(String.valueOf(e.getMessage()), e);
    }
  }

  private @Nullable Path resumePath() {
    if (resume == null) {
      return null;
    }
    if (!resume.equals(RESUME_LATEST)) {
      return Path.of(resume);
    }
    if (out == null) {
      throw CommandException.wrongUse(
          "--resume needs a path, or --out with the folder of the run to continue");
    }
    return out;
  }
}
