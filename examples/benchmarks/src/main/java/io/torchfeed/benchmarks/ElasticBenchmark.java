// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.CheckpointOptions;
import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.checkpoint.TrainingState;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.ReduceOp;
import io.torchfeed.elastic.StateTransfer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.stream.DoubleStream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The costs of elastic training without faults, each beside the least that it can cost: {@code
 * ROUNDS STEPS MEGABYTES}. Both of a pair alternate in each round; printed are the medians, and the
 * median, least and greatest ratio of a round.
 */
public final class ElasticBenchmark {
  private final int rounds;
  private final int steps;
  private final long floats;

  private ElasticBenchmark(int rounds, int steps, int megabytes) {
    this.rounds = rounds;
    this.steps = steps;
    this.floats = megabytes * 1_000_000L / Float.BYTES;
  }

  /**
   * Measures and prints.
   *
   * @param args rounds, steps of a round, at least 20, and the megabytes of a state
   */
  public static void main(String[] args) throws InterruptedException, IOException {
    ElasticBenchmark benchmark =
        new ElasticBenchmark(
            Integer.parseInt(args[0]), Integer.parseInt(args[1]), Integer.parseInt(args[2]));
    System.out.println("| measured | ms | beside it | ms | ratio | least | greatest |");
    System.out.println("|---|---|---|---|---|---|---|");
    benchmark.steps();
    benchmark.checkpoint();
    benchmark.transfer();
  }

  /** Prints a row; the first round has warmed up. */
  private static void print(String one, double[] ones, String other, double[] others) {
    double[] ratios = new double[ones.length - 1];
    for (int i = 0; i < ratios.length; i++) {
      ratios[i] = ones[i + 1] / others[i + 1];
    }
    System.out.printf(
        Locale.ROOT,
        "| %s | %.2f | %s | %.2f | %.3f | %.3f | %.3f |%n",
        one,
        median(DoubleStream.of(ones).skip(1)),
        other,
        median(DoubleStream.of(others).skip(1)),
        median(DoubleStream.of(ratios)),
        DoubleStream.of(ratios).min().orElse(Double.NaN),
        DoubleStream.of(ratios).max().orElse(Double.NaN));
  }

  private static double median(DoubleStream values) {
    double[] sorted = values.sorted().toArray();
    return sorted[sorted.length / 2];
  }

  private static double millisSince(long start) {
    return (System.nanoTime() - start) / 1e6;
  }

  private void steps() throws InterruptedException {
    double[] elastic = new double[rounds + 1];
    double[] plain = new double[rounds + 1];
    try (ElasticSteps measured = new ElasticSteps(steps)) {
      for (int i = 0; i <= rounds; i++) {
        elastic[i] = measured.elastic();
        plain[i] = measured.plain();
      }
    }
    print("a step of TrainingLoop", elastic, "a step of a plain loop", plain);
  }

  /** A state of one tensor. */
  private record OneTensor(Tensor tensor) implements Stateful {
    @Override
    public StateDict stateDict() {
      return StateDict.of("{}", Map.of("tensor", tensor));
    }

    @Override
    public StateDict sharedStateDict() {
      return StateDict.sharing("{}", Map.of("tensor", tensor));
    }

    @Override
    public void loadStateDict(StateDict state) {
      state.copyTo(Map.of("tensor", tensor));
    }
  }

  private void checkpoint() throws IOException {
    Path folder = Files.createTempDirectory("torchfeed-elastic");
    double[] stall = new double[rounds + 1];
    double[] copy = new double[rounds + 1];
    try (Tensor tensor = torch.ones(floats);
        Checkpoints checkpoints =
            Checkpoints.open(folder, CheckpointOptions.defaults().withKept(1))) {
      TrainingState state = TrainingState.builder().part("tensor", new OneTensor(tensor)).build();
      for (int i = 0; i <= rounds; i++) {
        long start = System.nanoTime();
        checkpoints.saveInBackground(i, state);
        stall[i] = millisSince(start);
        checkpoints.await();
        start = System.nanoTime();
        tensor.clone().close();
        copy[i] = millisSince(start);
      }
    } finally {
      TemporaryFolder.delete(folder);
    }
    print("the stall of saveInBackground", stall, "a copy in memory", copy);
  }

  private void transfer() throws InterruptedException {
    AtomicReferenceArray<double[]> times = new AtomicReferenceArray<>(2);
    TwoRanks.inGroup(
        group -> {
          double[] reduced = new double[rounds + 1];
          double[] sent = new double[rounds + 1];
          try (Tensor tensor = torch.ones(floats)) {
            for (int i = 0; i <= rounds; i++) {
              reduced[i] = timed(group, () -> group.allReduce(tensor, ReduceOp.MAX));
              sent[i] =
                  timed(group, () -> StateTransfer.broadcast(new OneTensor(tensor), group, 0));
            }
          }
          if (group.rank() == 0) {
            times.set(0, reduced);
            times.set(1, sent);
          }
        });
    print(
        "an all-reduce of the bytes",
        requireNonNull(times.get(0)),
        "StateTransfer.broadcast",
        requireNonNull(times.get(1)));
  }

  /** Returns the milliseconds until all ranks have done it. */
  private static double timed(ProcessGroup group, Runnable operation) {
    group.barrier();
    long start = System.nanoTime();
    operation.run();
    group.barrier();
    return millisSince(start);
  }
}
