// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.loader;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.task.LoaderFigures;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Tests how the times of a loader are interpreted. */
class BottleneckTest {
  /** Returns the bottleneck for 1,000 ms spent in passes, with two workers. */
  private static LoaderStats.Bottleneck of(
      int waited, int sampling, int working, int transferring, boolean javaCode) {
    return of(0, waited, sampling, working, transferring, javaCode);
  }

  private static LoaderStats.Bottleneck of(
      int starting, int waited, int sampling, int working, int transferring, boolean javaCode) {
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
                List.of()))
        .bottleneck();
  }

  @Test
  void theBottleneckIsTheStageThatTheOthersWaitFor() {
    assertThat(of(10, 5, 1900, 0, true)).isEqualTo(LoaderStats.Bottleneck.CONSUMER);
    assertThat(of(100, 300, 200, 0, false)).isEqualTo(LoaderStats.Bottleneck.SAMPLER);
    assertThat(of(500, 10, 1900, 0, true)).isEqualTo(LoaderStats.Bottleneck.DATASET);
    assertThat(of(500, 10, 1900, 0, false)).isEqualTo(LoaderStats.Bottleneck.GATHER);
    assertThat(of(500, 10, 300, 900, false)).isEqualTo(LoaderStats.Bottleneck.TRANSFER);
    assertThat(of(500, 10, 300, 0, false)).isEqualTo(LoaderStats.Bottleneck.PREFETCH);
    assertThat(of(600, 50, 10, 60, 0, false)).isEqualTo(LoaderStats.Bottleneck.START);
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
                Duration.ZERO,
                2,
                4,
                0.5,
                Optional.of(new LoaderFigures.Slowest("sample", 7, 0, Duration.ofMillis(12))),
                true,
                0,
                List.of()));
    assertThat(stats.waitShare()).isEqualTo(0.25);
    assertThat(stats.busyShare()).isEqualTo(0.75);
    assertThat(stats)
        .hasToString(
            "100 batches, 6400 rows in 2.00 s: 3.2 thousand rows/s, 1.6 MB/s; starting 10.00 %,"
                + " waited 25.00 %, 0.5 of 4 batches ready, 2 workers busy 75 %; slowest sample 7 took 12.000 ms;"
                + " bottleneck: the dataset: make its samples cheaper, or give the loader more"
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
