// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.Master;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.metric.Accuracy;
import io.torchfeed.metric.Mean;
import io.torchfeed.sampler.Part;
import io.torchfeed.trace.Trace;
import io.torchfeed.trace.TraceOptions;
import io.torchfeed.training.LearningRate;
import io.torchfeed.training.LoopMonitor;
import io.torchfeed.training.ProgressLine;
import io.torchfeed.training.Ranks;
import io.torchfeed.training.Schedule;
import io.torchfeed.training.TrainingLoop;
import io.torchfeed.training.TrainingLoopBuilder;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The cost of a trace, and of a schedule, metrics, monitors and a trace together: the steps of a
 * training loop with them, then without, in turns; and a single event. The forward pass of a step
 * lasts 5 ms, however busy the machine is, so that a ratio shows the work that is added; a run
 * counts by the median of its steps.
 */
final class TraceBenchmark {
  private static final long STEP_NANOS = 5_000_000;
  private static final int EVENTS = 300_000;
  private static final int CLASSES = 8;
  private static final int POINT_STEPS = 10;

  /** The additions to the steps of a loop. */
  private enum Extras {
    NOTHING,
    TRACE,
    ALL
  }

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
      TemporaryFolder.delete(folder);
    }
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
    Map<Extras, double[]> times = new EnumMap<>(Extras.class);
    for (Extras extras : Extras.values()) {
      times.put(extras, new double[rounds]);
      step(extras); // to compile
    }
    for (int round = 0; round < rounds; round++) {
      for (Extras extras : Extras.values()) {
        times.get(extras)[round] = step(extras);
      }
    }
    double[] without = times.get(Extras.NOTHING);
    for (Extras extras : List.of(Extras.TRACE, Extras.ALL)) {
      double[] with = times.get(extras);
      double[] ratios = IntStream.range(0, rounds).mapToDouble(i -> with[i] / without[i]).toArray();
      double median = median(ratios); // and sorts them
      print(
          "a step with %s: %.4f ms, with nothing %.4f ms; ratio %.4f (%.4f to %.4f)",
          extras == Extras.ALL ? "a schedule, metrics, monitors and a trace" : "a trace",
          median(with.clone()),
          median(without.clone()),
          median,
          ratios[0],
          ratios[rounds - 1]);
    }
  }

  private static double median(double[] values) {
    Arrays.sort(values);
    return values[values.length / 2];
  }

  private static void print(String format, Object... values) {
    System.out.println(String.format(Locale.ROOT, format, values));
  }

  /** Returns the median milliseconds of a step in a run of the loop. */
  private double step(Extras extras) throws InterruptedException {
    try (PointerScope scope = new PointerScope();
        LinearImpl net = new LinearImpl(CLASSES, CLASSES);
        SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.01));
        TensorDataset data =
            TensorDataset.of(
                torch.ones(steps + 1L, CLASSES),
                torch.zeros(new long[] {steps + 1L}).to(torch.ScalarType.Long));
        DataLoader loader = DataLoader.over(data).batchSize(1).build();
        DistributedDataParallel model = DistributedDataParallel.wrap(net, group)) {
      long[] times = new long[steps + 1];
      LoopMonitor clock = figures -> times[(int) figures.step().number()] = System.nanoTime();
      TrainingLoopBuilder<DistributedDataParallel> loop =
          TrainingLoop.of(Ranks.of(group), model)
              .state(all -> all.module("model", net).optimizer("optimizer", optimizer, net))
              .loader(loader);
      if (extras == Extras.ALL) {
        loop.learningRate(
            LearningRate.perStep(optimizer, Schedule.cosine(steps).withWarmUp(steps / 10)));
        loop.monitor(
            LoopMonitor.curves(folder.resolve("curves"), POINT_STEPS)
                .andThen(ProgressLine.to(new PrintStream(OutputStream.nullOutputStream())))
                .andThen(clock));
      } else {
        loop.monitor(clock);
      }
      if (extras != Extras.NOTHING) {
        loop.trace(TraceOptions.to(folder));
      }
      Mean mean = Mean.create();
      Accuracy accuracy = Accuracy.create();
      loop.build()
          .run(
              (step, own, batch) -> {
                Tensor output = net.forward(batch.tensor(0));
                spin();
                Tensor loss = torch.cross_entropy_loss(output, batch.tensor(1));
                if (extras == Extras.ALL) {
                  mean.update(loss.item_float(), batch.size());
                  accuracy.update(output, batch.tensor(1));
                }
                return loss;
              },
              optimizer::step);
      double[] durations =
          IntStream.range(0, steps).mapToDouble(i -> (times[i + 1] - times[i]) / 1e6).toArray();
      return median(durations);
    }
  }

  private static void spin() {
    long start = System.nanoTime();
    while (System.nanoTime() - start < STEP_NANOS) {
      Thread.onSpinWait();
    }
  }
}
