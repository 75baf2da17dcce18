// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.metrics.DoubleCounter;
import io.opentelemetry.api.metrics.DoubleGauge;
import io.opentelemetry.api.metrics.DoubleHistogram;
import io.opentelemetry.api.metrics.LongCounter;
import io.opentelemetry.api.metrics.Meter;
import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.data.loader.LoaderStats;
import io.torchfeed.distributed.training.ReductionStats;
import io.torchfeed.distributed.training.ReductionStats.Bucket;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The figures of a run as instruments of the SDK of OpenTelemetry that is registered. */
final class Telemetry implements LoopMonitor {
  private static final String SCOPE = "io.torchfeed";
  private static final AttributeKey<Long> RANK = AttributeKey.longKey("torchfeed.rank");
  private static final AttributeKey<Long> WORLD = AttributeKey.longKey("torchfeed.world_size");
  private static final AttributeKey<String> KIND = AttributeKey.stringKey("torchfeed.metric.kind");

  private final long everySteps;
  private @Nullable Instruments instruments;
  private @Nullable Step last;
  private Duration now = Duration.ZERO;
  private long taken;

  private long samples;
  private long steps;
  private Duration elapsed = Duration.ZERO;
  private Duration waited = Duration.ZERO;
  private long batches;
  private long bytes;
  private long reductions;
  private Duration reducing = Duration.ZERO;

  Telemetry(long everySteps) {
    this.everySteps = LoopCurves.requireAtLeastOne(everySteps);
  }

  /** The instruments of an SDK. */
  private static final class Instruments {
    private final LongCounter steps;
    private final LongCounter samples;
    private final DoubleHistogram stepTime;
    private final DoubleGauge loss;
    private final DoubleGauge rate;
    private final DoubleGauge metric;
    private final LongCounter batches;
    private final LongCounter bytes;
    private final DoubleCounter loaderWait;
    private final DoubleGauge ready;
    private final LongCounter reductions;
    private final LongCounter sent;
    private final DoubleCounter groupWait;

    Instruments() {
      Meter meter = GlobalOpenTelemetry.get().getMeter(SCOPE);
      steps = counter(meter, "training.steps", "{step}", "Completed steps");
      samples = counter(meter, "training.samples", "{sample}", "Samples of this rank's batches");
      stepTime =
          meter
              .histogramBuilder("torchfeed.training.step.duration")
              .setUnit("s")
              .setDescription("Time of a step, the mean since the record before")
              .build();
      loss = gauge(meter, "training.loss", "1", "Loss of the last step on this rank");
      rate = gauge(meter, "training.learning_rate", "1", "Learning rate of the last step");
      metric = gauge(meter, "training.metric", "1", "Result of the last evaluation");
      batches = counter(meter, "loader.batches", "{batch}", "Batches delivered");
      bytes = counter(meter, "loader.bytes", "By", "Bytes of the tensors of the batches");
      loaderWait = seconds(meter, "loader.wait.time", "Time without a batch that was ready");
      ready = gauge(meter, "loader.ready", "{batch}", "Mean number of batches that were ready");
      reductions = counter(meter, "group.reductions", "{reduction}", "Averages of gradients");
      sent = counter(meter, "group.sent", "By", "Bytes of gradients that this rank has sent");
      groupWait = seconds(meter, "group.wait.time", "Time from the last gradient to the average");
    }

    private static LongCounter counter(Meter meter, String name, String unit, String text) {
      return meter.counterBuilder("torchfeed." + name).setUnit(unit).setDescription(text).build();
    }

    private static DoubleCounter seconds(Meter meter, String name, String text) {
      return meter
          .counterBuilder("torchfeed." + name)
          .ofDoubles()
          .setUnit("s")
          .setDescription(text)
          .build();
    }

    private static DoubleGauge gauge(Meter meter, String name, String unit, String text) {
      return meter.gaugeBuilder("torchfeed." + name).setUnit(unit).setDescription(text).build();
    }
  }

  /** Returns the instruments; null until the program has registered an SDK. */
  private @Nullable Instruments instruments() {
    if (instruments == null && GlobalOpenTelemetry.isSet()) {
      instruments = new Instruments();
    }
    return instruments;
  }

  private static Attributes attributes(Step step) {
    return Attributes.of(RANK, (long) step.rank(), WORLD, (long) step.worldSize());
  }

  @Override
  public void stepDone(StepFigures figures) {
    steps++;
    last = figures.step();
    taken = figures.samples();
    now = figures.elapsed();
    Instruments all = instruments();
    if (all == null || (figures.step().number() + 1) % everySteps != 0) {
      return;
    }
    Attributes attributes = attributes(figures.step());
    count(all, attributes);
    all.loss.set(figures.loss(), attributes);
    figures.learningRate().ifPresent(rate -> all.rate.set(rate, attributes));
    all.loaderWait.add(seconds(figures.waited().minus(waited)), attributes);
    waited = figures.waited();
    record(figures.loaderStats(), all, attributes);
    figures.reductionStats().ifPresent(stats -> record(stats, all, attributes));
  }

  /** Counts the steps since the call before. */
  private void count(Instruments all, Attributes attributes) {
    all.steps.add(steps, attributes);
    all.samples.add(taken - samples, attributes);
    all.stepTime.record(seconds(now.minus(elapsed)) / steps, attributes);
    steps = 0;
    samples = taken;
    elapsed = now;
  }

  @Override
  public void leave() {
    Instruments all = instruments();
    if (all != null && last != null && steps > 0) {
      count(all, attributes(last));
    }
  }

  private void record(LoaderStats stats, Instruments all, Attributes attributes) {
    all.batches.add(since(batches, stats.batches()), attributes);
    all.bytes.add(since(bytes, stats.bytes()), attributes);
    all.ready.set(stats.ready(), attributes);
    batches = stats.batches();
    bytes = stats.bytes();
  }

  private void record(ReductionStats stats, Instruments all, Attributes attributes) {
    long done = since(reductions, stats.reductions());
    long ofOne = stats.buckets().stream().mapToLong(Bucket::sentBytes).sum();
    all.reductions.add(done, attributes);
    all.sent.add(done * ofOne, attributes);
    all.groupWait.add(since(reducing.toNanos(), stats.waited().toNanos()) / 1e9, attributes);
    reductions = stats.reductions();
    reducing = stats.waited();
  }

  /** Returns how much a sum has grown; it begins again with another loader or model. */
  private static long since(long before, long now) {
    return now < before ? now : now - before;
  }

  private static double seconds(Duration time) {
    return time.toNanos() / 1e9;
  }

  @Override
  public void evaluated(Step step, Metric metric) {
    Instruments all = instruments();
    if (all != null) {
      String kind = metric.isLoss() ? "loss" : "score";
      all.metric.set(metric.value(), attributes(step).toBuilder().put(KIND, kind).build());
    }
  }
}
