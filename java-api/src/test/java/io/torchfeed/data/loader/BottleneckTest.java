// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.task.LoaderFigures;
import io.torchfeed.data.task.LoaderFigures.Flow;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Tests how the times of a loader are interpreted. */
class BottleneckTest {
  private static final Flow NO_DEVICE = flow(0, 0, 0, 0, 0);

  /** Returns a flow of milliseconds, and the number of slabs that were allocated. */
  private static Flow flow(
      int copying, int awaitingDevice, int handing, int held, long freshSlabs) {
    return new Flow(
        Duration.ofMillis(copying),
        Duration.ofMillis(awaitingDevice),
        Duration.ofMillis(handing),
        Duration.ofMillis(held),
        freshSlabs);
  }

  /** Returns the bottleneck for 1,000 ms spent in passes, with 100 batches and two workers. */
  private static LoaderStats.Bottleneck of(
      int starting, int waited, int sampling, int working, int transferring, Flow flow) {
    return stats(starting, waited, sampling, working, transferring, false, flow).bottleneck();
  }

  private static LoaderStats stats(
      int starting,
      int waited,
      int sampling,
      int working,
      int transferring,
      boolean javaCode,
      Flow flow) {
    return new LoaderStats(
        new LoaderFigures(
            100,
            6400,
            1 << 20,
            Duration.ofSeconds(1),
            Duration.ofMillis(starting),
            Duration.ofMillis(waited),
            Duration.ofMillis(sampling),
            Duration.ofMillis(working),
            Duration.ofMillis(transferring),
            2,
            4,
            0.5,
            Optional.empty(),
            javaCode,
            0,
            List.of(),
            flow));
  }

  @Test
  void theBottleneckIsTheStageThatTheOthersWaitFor() {
    assertThat(of(0, 10, 5, 1900, 0, NO_DEVICE)).isEqualTo(LoaderStats.Bottleneck.CONSUMER);
    assertThat(of(0, 100, 300, 200, 0, NO_DEVICE)).isEqualTo(LoaderStats.Bottleneck.SAMPLER);
    assertThat(of(600, 50, 10, 60, 0, NO_DEVICE)).isEqualTo(LoaderStats.Bottleneck.START);
    assertThat(of(0, 500, 10, 1900, 0, NO_DEVICE)).isEqualTo(LoaderStats.Bottleneck.GATHER);
    assertThat(stats(0, 500, 10, 1900, 0, true, NO_DEVICE).bottleneck())
        .isEqualTo(LoaderStats.Bottleneck.DATASET);
  }

  @Test
  void aDeviceThatTheHostWaitsForIsBusyWithCopiesOrWithWorkBeforeThem() {
    assertThat(of(0, 900, 10, 300, 800, flow(950, 700, 50, 1500, 0)))
        .isEqualTo(LoaderStats.Bottleneck.TRANSFER);
    assertThat(of(0, 900, 10, 300, 800, flow(200, 700, 50, 1500, 0)))
        .isEqualTo(LoaderStats.Bottleneck.DEVICE);
    // copies that the host does not wait for
    assertThat(of(0, 900, 10, 1900, 100, flow(600, 20, 50, 0, 0)))
        .isEqualTo(LoaderStats.Bottleneck.GATHER);
  }

  @Test
  void theThreadThatTakesBatchesBoundsSmallOnes() {
    assertThat(of(0, 900, 10, 400, 300, flow(100, 20, 350, 1500, 0)))
        .isEqualTo(LoaderStats.Bottleneck.HAND_OVER);
    assertThat(of(0, 900, 10, 400, 0, flow(0, 0, 600, 1500, 0)))
        .isEqualTo(LoaderStats.Bottleneck.HAND_OVER);
    // without the time in which it waited for the device
    assertThat(of(0, 900, 10, 1900, 500, flow(100, 450, 350, 0, 0)))
        .isEqualTo(LoaderStats.Bottleneck.GATHER);
  }

  @Test
  void idleWorkersWaitForTheConsumerOrForRequests() {
    assertThat(of(0, 500, 10, 300, 0, flow(0, 0, 100, 900, 0)))
        .isEqualTo(LoaderStats.Bottleneck.PREFETCH);
    assertThat(of(0, 500, 10, 300, 0, flow(0, 0, 100, 600, 0)))
        .isEqualTo(LoaderStats.Bottleneck.REQUESTS);
    // idle for most of the time, though together busier than one worker could be in half of it
    assertThat(of(0, 500, 10, 900, 0, flow(0, 0, 100, 700, 0)))
        .isEqualTo(LoaderStats.Bottleneck.PREFETCH);
    assertThat(of(0, 500, 10, 900, 0, flow(0, 0, 100, 300, 0)))
        .isEqualTo(LoaderStats.Bottleneck.REQUESTS);
  }

  @Test
  void aConsumerThatHardlyWaitsIsTheBottleneckWhateverTakingABatchCosts() {
    assertThat(of(0, 40, 5, 300, 0, flow(0, 0, 30, 1600, 0)))
        .isEqualTo(LoaderStats.Bottleneck.CONSUMER);
    assertThat(of(0, 40, 5, 300, 0, flow(0, 0, 10, 1600, 0)))
        .isEqualTo(LoaderStats.Bottleneck.PREFETCH);
  }

  @Test
  void freshMemoryForMostBatchesIsReported() {
    assertThat(of(0, 500, 10, 1900, 0, flow(0, 0, 100, 0, 70)))
        .isEqualTo(LoaderStats.Bottleneck.MEMORY);
    // fewer, beyond those in use at a time
    assertThat(of(0, 500, 10, 1900, 0, flow(0, 0, 100, 0, 60)))
        .isEqualTo(LoaderStats.Bottleneck.GATHER);
  }

  @Test
  void ratesAndSharesAreComputed() {
    LoaderStats stats =
        new LoaderStats(
            new LoaderFigures(
                100,
                6400,
                3_200_000,
                Duration.ofSeconds(2),
                Duration.ofMillis(200),
                Duration.ofMillis(500),
                Duration.ZERO,
                Duration.ofMillis(2700),
                Duration.ofMillis(300),
                2,
                4,
                0.5,
                Optional.of(new LoaderFigures.Slowest("sample", 7, 0, Duration.ofMillis(12))),
                true,
                0,
                List.of(),
                flow(500, 200, 0, 360, 0)));
    assertThat(stats.waitShare()).isEqualTo(0.25);
    assertThat(stats.busyShare()).isEqualTo(0.75);
    assertThat(stats)
        .hasToString(
            "100 batches, 6400 rows in 2.00 s: 3.2 thousand rows/s, 1.6 MB/s; starting 10.00 %,"
                + " waited 25.00 %, 0.5 of 4 batches ready, 2 workers busy 75 %, held 10 %;"
                + " copies took 25 % of the time, and their host waited for 10 %;"
                + " slowest sample 7 took 12.000 ms; bottleneck: the dataset: make its samples cheaper, or give the loader more"
                + " workers");
  }

  @Test
  void theSlowestSampleIsReported() {
    Dataset dataset =
        new Dataset() {
          @Override
          public long size() {
            return 20;
          }

          @Override
          public List<RowSpec> columns() {
            return List.of(RowSpec.of(DType.INT64));
          }

          @Override
          public void read(long index, SampleWriter sample) {
            long end = System.nanoTime() + (index == 13 ? 500_000_000 : 0);
            while (System.nanoTime() - end < 0) {
              LockSupport.parkNanos(end - System.nanoTime());
            }
            sample.putLong(0, index);
          }
        };
    try (DataLoader loader = DataLoader.over(dataset).batchSize(4).workers(2).build();
        Batches batches = loader.epoch(3)) {
      batches.forEachRemaining(batch -> {});
      LoaderStats.Slowest slowest = loader.stats().slowest().orElseThrow();
      assertThat(slowest.what()).isEqualTo("sample");
      assertThat(slowest.number()).isEqualTo(13);
      assertThat(slowest.epoch()).isEqualTo(3);
      assertThat(slowest.time()).isGreaterThanOrEqualTo(Duration.ofMillis(500));
    }
  }
}
