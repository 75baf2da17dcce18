// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.metrics.SdkMeterProvider;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.testing.exporter.InMemoryMetricReader;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.distributed.training.ReductionStats;
import io.torchfeed.distributed.training.ReductionStats.Bucket;
import io.torchfeed.testing.RankThreads;
import io.torchfeed.testing.TestJvm;
import java.io.File;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;

/** Tests the figures of a loop as an SDK of OpenTelemetry sees them. */
@ResourceLock("OpenTelemetry")
class TelemetryTest {
  private static final int STEPS = 10;
  private static final long NONE = -1;

  private static void train(long maxSteps, LoopMonitor more) throws Exception {
    RankThreads.run(
        2,
        group -> {
          try (PointerScope scope = new PointerScope();
              TensorDataset data = LoopNet.data();
              LoopNet net = new LoopNet(0);
              var model = DistributedDataParallel.wrap(net, group)) {
            TrainingLoop.of(Ranks.of(group), model)
                .state(net::addTo)
                .loader(part -> LoopNet.loader(data, part))
                .epochs(2)
                .learningRate(LearningRate.perStep(net.optimizer, Schedule.constant()))
                .evaluation((wrapped, step) -> 0.75, EvaluationOptions.ofScore())
                .maxSteps(maxSteps)
                .monitor(LoopMonitor.telemetry(4).andThen(more))
                .build()
                .run((step, wrapped, batch) -> net.loss(batch), net.optimizer::step);
          }
        });
  }

  private static Attributes attributes(int rank) {
    return Attributes.of(
        AttributeKey.longKey("torchfeed.rank"),
        (long) rank,
        AttributeKey.longKey("torchfeed.world_size"),
        2L);
  }

  private static double sum(MetricData data, int rank) {
    Stream<Double> longs =
        data.getLongSumData().getPoints().stream()
            .filter(point -> point.getAttributes().equals(attributes(rank)))
            .map(point -> (double) point.getValue());
    Stream<Double> doubles =
        data.getDoubleSumData().getPoints().stream()
            .filter(point -> point.getAttributes().equals(attributes(rank)))
            .map(point -> point.getValue());
    return Stream.concat(longs, doubles).collect(Collectors.summingDouble(Double::doubleValue));
  }

  /** Trains with an SDK; returns its records by name. */
  private static Map<String, MetricData> seenOf(long maxSteps) throws Exception {
    return seenOf(maxSteps, NONE, figures -> {});
  }

  /**
   * Trains with an SDK.
   *
   * @param from the number of the step after which rank 0 registers it; NONE for the beginning
   */
  private static Map<String, MetricData> seenOf(long maxSteps, long from, LoopMonitor more)
      throws Exception {
    InMemoryMetricReader reader = InMemoryMetricReader.create();
    GlobalOpenTelemetry.resetForTest();
    SdkMeterProvider meters = SdkMeterProvider.builder().registerMetricReader(reader).build();
    try (OpenTelemetrySdk sdk = OpenTelemetrySdk.builder().setMeterProvider(meters).build()) {
      if (from == NONE) {
        GlobalOpenTelemetry.set(sdk);
      }
      train(
          maxSteps,
          figures -> {
            if (figures.step().rank() == 0 && figures.step().number() == from) {
              GlobalOpenTelemetry.set(sdk);
            }
            more.stepDone(figures);
          });
      return reader.collectAllMetrics().stream()
          .collect(
              Collectors.toMap(
                  MetricData::getName, Function.identity(), (a, b) -> b, TreeMap::new));
    } finally {
      GlobalOpenTelemetry.resetForTest();
    }
  }

  private static MetricData of(Map<String, MetricData> all, String name) {
    return requireNonNull(all.get("torchfeed." + name), name);
  }

  @Test
  void anSdkSeesTheFiguresOfEachRank() throws Exception {
    Map<String, MetricData> all = seenOf(STEPS);
    assertThat(all.values().stream().map(each -> each.getName() + " " + each.getUnit()))
        .containsExactly(
            "torchfeed.group.reductions {reduction}",
            "torchfeed.group.sent By",
            "torchfeed.group.wait.time s",
            "torchfeed.loader.batches {batch}",
            "torchfeed.loader.bytes By",
            "torchfeed.loader.ready {batch}",
            "torchfeed.loader.wait.time s",
            "torchfeed.training.learning_rate 1",
            "torchfeed.training.loss 1",
            "torchfeed.training.metric 1",
            "torchfeed.training.samples {sample}",
            "torchfeed.training.step.duration s",
            "torchfeed.training.steps {step}");
    assertThat(all.values())
        .allMatch(each -> each.getInstrumentationScopeInfo().getName().equals("io.torchfeed"))
        .noneMatch(each -> each.getDescription().isEmpty());
    for (int rank = 0; rank < 2; rank++) {
      assertThat(sum(of(all, "training.steps"), rank)).isEqualTo(STEPS);
      assertThat(sum(of(all, "training.samples"), rank)).isEqualTo(LoopNet.SAMPLES);
      assertThat(sum(of(all, "group.reductions"), rank)).isEqualTo(8); // at the last point
      assertThat(sum(of(all, "loader.batches"), rank)).isEqualTo(8);
      assertThat(sum(of(all, "loader.bytes"), rank)).isEqualTo(8 * 6 * (4 * 4 + 8));
      assertThat(sum(of(all, "group.sent"), rank)).isPositive();
    }
    assertThat(of(all, "training.step.duration").getHistogramData().getPoints())
        .hasSize(2)
        .allMatch(point -> point.getCount() == 3); // after steps 4, 8 and 10
    assertThat(of(all, "training.learning_rate").getDoubleGaugeData().getPoints())
        .hasSize(2)
        .allMatch(point -> point.getValue() == 0.01);
    AttributeKey<String> kind = AttributeKey.stringKey("torchfeed.metric.kind");
    assertThat(of(all, "training.metric").getDoubleGaugeData().getPoints())
        .hasSize(2)
        .allMatch(point -> point.getValue() == 0.75)
        .allMatch(point -> "score".equals(point.getAttributes().get(kind)));
  }

  @Test
  void aRunThatEndsBetweenTwoPointsCountsAllItsSteps() throws Exception {
    Map<String, MetricData> all = seenOf(6);
    assertThat(sum(of(all, "training.steps"), 1)).isEqualTo(6);
    assertThat(sum(of(all, "training.samples"), 1)).isEqualTo(36);
    assertThat(sum(of(all, "loader.batches"), 1)).isEqualTo(4);
  }

  @Test
  void anSdkThatComesLateSeesTheWholeRun() throws Exception {
    Map<String, MetricData> all = seenOf(STEPS, 5, figures -> {});
    assertThat(sum(of(all, "training.steps"), 0)).isEqualTo(STEPS);
    assertThat(sum(of(all, "training.samples"), 1)).isEqualTo(LoopNet.SAMPLES);
    assertThat(sum(of(all, "loader.batches"), 0)).isEqualTo(8);
    assertThat(of(all, "training.step.duration").getHistogramData().getPoints())
        .hasSize(2)
        .allMatch(point -> point.getCount() == 2); // after steps 8 and 10
  }

  @Test
  void timesAreCountedOnce() throws Exception {
    double[] waited = new double[2];
    double[] sent = new double[2];
    double[] reducing = new double[2];
    Map<String, MetricData> all =
        seenOf(
            STEPS,
            NONE,
            figures -> {
              if (figures.step().number() == 7) { // the last point
                int rank = figures.step().rank();
                ReductionStats stats = figures.reductionStats().orElseThrow();
                waited[rank] = figures.waited().toNanos() / 1e9;
                sent[rank] =
                    stats.reductions()
                        * stats.buckets().stream().mapToDouble(Bucket::sentBytes).sum();
                reducing[rank] = stats.waited().toNanos() / 1e9;
              }
            });
    for (int rank = 0; rank < 2; rank++) {
      assertThat(waited[rank]).isPositive();
      assertThat(reducing[rank]).isPositive();
      assertThat(sum(of(all, "loader.wait.time"), rank)).isCloseTo(waited[rank], within(1e-9));
      assertThat(sum(of(all, "group.wait.time"), rank)).isCloseTo(reducing[rank], within(1e-9));
      assertThat(sum(of(all, "group.sent"), rank)).isEqualTo(sent[rank]);
    }
  }

  @Test
  void withoutAnSdkNothingHappens() throws Exception {
    GlobalOpenTelemetry.resetForTest();
    train(STEPS, figures -> {});
    assertThat(GlobalOpenTelemetry.isSet()).isFalse();
    assertThatIllegalArgumentException().isThrownBy(() -> LoopMonitor.telemetry(0));
  }

  /** A program whose class path has no OpenTelemetry. */
  static final class WithoutApi {
    private WithoutApi() {}

    public static void main(String[] args) throws InterruptedException {
      try {
        LoopMonitor.telemetry(1);
      } catch (IllegalStateException e) {
        System.out.println(e.getMessage());
      }
      try (PointerScope scope = new PointerScope();
          TensorDataset data = LoopNet.data();
          LoopNet net = new LoopNet(0);
          SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.01))) {
        System.out.println(
            TrainingLoop.alone(net)
                .state(net::addTo)
                .loader(part -> LoopNet.loader(data, part))
                .monitor(ProgressLine.to(System.out))
                .build()
                .run((step, model, batch) -> net.loss(batch), optimizer::step));
      }
    }
  }

  @Test
  void aJvmWithoutTheApiTrainsAndTheMissingDependencyIsNamed(@TempDir Path folder)
      throws Exception {
    String classPath =
        Stream.of(System.getProperty("java.class.path").split(File.pathSeparator, -1))
            .filter(entry -> !entry.contains("opentelemetry"))
            .collect(Collectors.joining(File.pathSeparator));
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            classPath,
            WithoutApi.class.getName());
    try (TestJvm program = TestJvm.launch(folder, Map.of(), command)) {
      assertThat(program.exitCode()).as("%s", program.output()).isZero();
      assertThat(program.output())
          .containsExactly(
              "telemetry needs OpenTelemetry's API; add the dependency"
                  + " io.opentelemetry:opentelemetry-api, version 1.68.0",
              "COMPLETED");
    }
  }
}
