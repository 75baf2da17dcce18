// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The validated settings of a run.
 *
 * @param ranks number of processes, at least 1
 * @param oversubscribe whether more processes are started than this machine has room for
 * @param epochs total number of epochs, at least 1
 * @param batchSize samples per rank and step, in [1, 60000]
 * @param accumulate batches per optimizer step, at least 1
 * @param algorithm how the ranks train together
 * @param comm how gradients are sent, if the ranks exchange them
 * @param device the device of the ranks, as {@link TrainingDevice} takes it
 * @param lr learning rate, above 0
 * @param momentum momentum of SGD, in [0, 1)
 * @param seed seed of parameters, dropout and order; not negative
 * @param data folder with the four verified files
 * @param augment whether images are shifted at random, by Java code on the workers
 * @param workers loader threads per rank
 * @param threads threads per operation in each rank; 0 = cores divided by ranks
 * @param out output folder of the run
 * @param resume checkpoint to continue from, or null
 * @param bar whether progress is drawn as a bar
 * @param bench measurements for the comparison with peers
 */
record Settings(
    int ranks,
    boolean oversubscribe,
    int epochs,
    int batchSize,
    int accumulate,
    Algorithm algorithm,
    Comm comm,
    String device,
    double lr,
    double momentum,
    long seed,
    @Nullable Path data,
    boolean augment,
    int workers,
    int threads,
    Path out,
    @Nullable Path resume,
    boolean bar,
    Bench bench) {

  /**
   * Measurements for {@code examples/benchmarks/peers/compare}.
   *
   * @param json file for the figures of rank 0, or null
   * @param maxSteps maximum number of steps per epoch, or 0 for all
   * @param bareSteps number of steps without loader and reduction to time after training
   */
  record Bench(@Nullable Path json, int maxSteps, int bareSteps) {}

  Settings {
    require("--ranks", ranks, 1, 1024);
    require("--epochs", epochs, 1, 1_000_000);
    require("--batch-size", batchSize, 1, 60_000);
    require("--accumulate", accumulate, 1, 60_000);
    require("--workers", workers, 1, 256);
    require("--threads", threads, 0, 1024);
    if (accumulate > 1 && algorithm != Algorithm.ALLREDUCE) {
      throw new IllegalArgumentException(
          "--accumulate needs --algorithm allreduce, got " + algorithm);
    }
    if (comm != Comm.ALLREDUCE && algorithm != Algorithm.ALLREDUCE) {
      throw new IllegalArgumentException("--comm needs --algorithm allreduce, got " + algorithm);
    }
    algorithm.requireRanks("--ranks", ranks);
    if (!TrainingDevice.isChoice(device)) {
      throw new IllegalArgumentException(
          "--device must be cpu, cuda, cuda:N or auto, got " + device);
    }
    if (!device.equals(TrainingDevice.CPU) && !isOnDevices(algorithm, comm)) {
      throw new IllegalArgumentException(
          "--device "
              + device
              + " needs --algorithm allreduce, and --comm allreduce, float16 or bfloat16, got "
              + algorithm
              + " and "
              + comm);
    }
    if (!(lr > 0 && lr <= 100)) {
      throw new IllegalArgumentException("--lr must be in (0, 100], got " + lr);
    }
    if (!(momentum >= 0 && momentum < 1)) {
      throw new IllegalArgumentException("--momentum must be in [0, 1), got " + momentum);
    }
    if (seed < 0 || seed > 0xffff_ffffL) {
      throw new IllegalArgumentException("--seed must be in [0, 4294967295], got " + seed);
    }
  }

  /** Returns whether ranks on devices can train together in this way. */
  static boolean isOnDevices(Algorithm algorithm, Comm comm) {
    return algorithm == Algorithm.ALLREDUCE
        && (comm == Comm.ALLREDUCE || comm == Comm.FLOAT16 || comm == Comm.BFLOAT16);
  }

  private static void require(String option, int value, int least, int most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(
          option + " must be in [" + least + ", " + most + "], got " + value);
    }
  }

  /** Returns the threads per operation; by default the ranks of this machine share its cores. */
  int threadsPerRank() {
    return threads > 0 ? threads : Math.max(1, Runtime.getRuntime().availableProcessors() / ranks);
  }

  /** Returns the number of steps of an epoch with this many batches. */
  long steps(long batches) {
    return bench.maxSteps > 0 ? Math.min(bench.maxSteps, batches) : batches;
  }

  Settings with(Path verifiedData, @Nullable Path checkpoint) {
    return new Settings(
        ranks,
        oversubscribe,
        epochs,
        batchSize,
        accumulate,
        algorithm,
        comm,
        device,
        lr,
        momentum,
        seed,
        verifiedData,
        augment,
        workers,
        threads,
        out,
        checkpoint,
        bar,
        bench);
  }

  /** Returns the command-line arguments that reproduce these settings in a rank. */
  List<String> toArguments() {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "--ranks=" + ranks,
                "--epochs=" + epochs,
                "--batch-size=" + batchSize,
                "--accumulate=" + accumulate,
                "--algorithm=" + algorithm,
                "--comm=" + comm,
                "--device=" + device,
                "--lr=" + lr,
                "--momentum=" + momentum,
                "--seed=" + seed,
                "--workers=" + workers,
                "--threads=" + threadsPerRank(),
                "--out=" + out.toAbsolutePath(),
                "--progress=" + (bar ? "bar" : "lines"),
                "--max-steps=" + bench.maxSteps,
                "--bare-steps=" + bench.bareSteps));
    if (augment) {
      arguments.add("--augment");
    }
    if (data != null) {
      arguments.add("--verified-data=" + data.toAbsolutePath());
    }
    if (resume != null) {
      arguments.add("--resume=" + resume.toAbsolutePath());
    }
    if (bench.json != null) {
      arguments.add("--json=" + bench.json.toAbsolutePath());
    }
    return List.copyOf(arguments);
  }
}
