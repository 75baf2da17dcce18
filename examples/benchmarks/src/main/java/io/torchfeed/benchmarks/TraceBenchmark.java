// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.Master;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.sampler.Part;
import io.torchfeed.trace.Trace;
import io.torchfeed.trace.TraceOptions;
import io.torchfeed.training.Ranks;
import io.torchfeed.training.TrainingLoop;
import io.torchfeed.training.TrainingLoopBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The cost of a trace: the steps of a training loop with a trace and without, in turns, and a
 * single event. The forward pass of a step lasts 5 ms, however busy the machine is, so that a ratio
 * shows the work that the trace adds.
 */
final class TraceBenchmark {
  private static final long STEP_NANOS = 5_000_000;
  private static final int EVENTS = 300_000;

  private final ProcessGroup group;
  private final Path folder;
  private final int steps;

  private TraceBenchmark(ProcessGroup group, Path folder, int steps) {
    this.group = group;
    this.folder = folder;
    this.steps = steps;
  }

  /**
   * Runs the benchmark.
   *
   * @param args rounds and steps
   */
  public static void main(String[] args) throws Exception {
    int rounds = Integer.parseInt(args[0]);
    Path folder = Files.createTempDirectory("trace");
    try (Master master = Master.listen("127.0.0.1");
        ProcessGroup group = ProcessGroup.join(master, Part.whole(), GroupOptions.defaults())) {
      TraceBenchmark benchmark = new TraceBenchmark(group, folder, Integer.parseInt(args[1]));
      benchmark.events();
      benchmark.loops(rounds);
    } finally {
      delete(folder);
    }
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    Files.delete(folder);
  }

  private void events() {
    double off = section();
    double on;
    try (Trace trace = Trace.start(TraceOptions.to(folder))) {
      on = section();
    }
    print("an event: %.0f ns with a trace, %.1f ns without", on, off);
  }

  /** Returns the nanoseconds of a section, of the last of several series. */
  private static double section() {
    double nanos = 0;
    for (int series = 0; series < 5; series++) {
      long start = System.nanoTime();
      for (int i = 0; i < EVENTS; i++) {
        try (Trace.Section section = Trace.section("part")) {
          Thread.onSpinWait();
        }
      }
      nanos = (System.nanoTime() - start) / (double) EVENTS;
    }
    return nanos;
  }

  private void loops(int rounds) throws InterruptedException {
    double[] with = new double[rounds];
    double[] without = new double[rounds];
    double[] ratios = new double[rounds];
    step(true); // to compile
    for (int round = 0; round < rounds; round++) {
      without[round] = step(false);
      with[round] = step(true);
      ratios[round] = with[round] / without[round];
    }
    print(
        "a step: %.4f ms with a trace, %.4f ms without; ratio %.4f (%.4f, %.4f)",
        median(with), median(without), median(ratios), ratios[0], ratios[rounds - 1]);
  }

  private static double median(double[] values) {
    Arrays.sort(values);
    return values[values.length / 2];
  }

  private static void print(String format, Object... values) {
    System.out.println(String.format(Locale.ROOT, format, values));
  }

  /** Returns the mean milliseconds of a step in a run of the loop. */
  private double step(boolean isTraced) throws InterruptedException {
    try (PointerScope scope = new PointerScope();
        LinearImpl net = new LinearImpl(8, 8);
        SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.01));
        TensorDataset data =
            TensorDataset.of(torch.ones(steps + 1L, 8), torch.ones(steps + 1L, 8));
        DataLoader loader = DataLoader.over(data).batchSize(1).build();
        DistributedDataParallel model = DistributedDataParallel.wrap(net, group)) {
      long[] times = new long[steps + 1];
      TrainingLoopBuilder<DistributedDataParallel> loop =
          TrainingLoop.of(Ranks.of(group), model)
              .state(all -> all.module("model", net).optimizer("optimizer", optimizer, net))
              .loader(loader)
              .monitor(figures -> times[(int) figures.step().number()] = System.nanoTime());
      if (isTraced) {
        loop.trace(TraceOptions.to(folder));
      }
      loop.build()
          .run(
              (step, own, batch) -> {
                Tensor output = net.forward(batch.tensor(0));
                spin();
                return output.sub(batch.tensor(1)).square().mean();
              },
              optimizer::step);
      return (times[steps] - times[0]) / 1e6 / steps;
    }
  }

  private static void spin() {
    long start = System.nanoTime();
    while (System.nanoTime() - start < STEP_NANOS) {
      Thread.onSpinWait();
    }
  }
}
