// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.RowData;
import io.torchfeed.data.Rows;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.LoaderStats;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.text.ParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.LongStream;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the statistics of a loader. */
abstract class LoaderStatsContract {
  private static final int SIZE = 10;
  private static final int ROW_BYTES = Rows.WIDTH * Float.BYTES + Long.BYTES;

  private final IntFunction<RowData> engine;
  private RowData data;

  LoaderStatsContract(IntFunction<RowData> engine) {
    this.engine = engine;
  }

  @BeforeEach
  void openData() {
    data = engine.apply(SIZE);
  }

  @AfterEach
  void closeData() {
    data.close();
  }

  private static void drain(Batches batches) {
    try (batches) {
      while (batches.hasNext()) {
        batches.next();
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3})
  void deliveredBatchesAreCounted(int workers) {
    LoaderStats stats;
    try (DataLoader loader = data.over().batchSize(4).workers(workers).build()) {
      assertThat(loader.stats().batches()).isZero();
      assertThat(loader.stats().slowest()).isEmpty();
      assertThat(loader.stats().rowsPerSecond()).isZero();
      drain(loader.epoch(0));
      try (Batches left = loader.epoch(1)) {
        left.next(); // only one: a batch that is ready but not taken is not delivered
      }
      stats = loader.stats();
      loader.close();
      assertThat(loader.stats()).isEqualTo(stats);
    }
    assertThat(stats.batches()).isEqualTo(4);
    assertThat(stats.rows()).isEqualTo(SIZE + 4);
    assertThat(stats.bytes()).isEqualTo((SIZE + 4) * ROW_BYTES);
    assertThat(stats.workers()).isEqualTo(workers);
    assertThat(stats.prefetch()).isEqualTo(workers == 0 ? 1 : 8);
    assertThat(stats.ready()).isBetween(0.0, (double) stats.prefetch());
    assertThat(stats.waited()).isPositive().isLessThanOrEqualTo(stats.elapsed());
    assertThat(stats.sampling()).isPositive();
    assertThat(stats.working()).isPositive();
    assertThat(stats.slowest()).isPresent();
    assertThat(stats.toString())
        .startsWith("4 batches, 14 rows in ")
        .contains("%d workers busy ".formatted(workers), "bottleneck: ");
  }

  @Test
  void theWayOfBatchesToAConsumerThatRestsIsMeasured() throws InterruptedException {
    try (DataLoader loader = data.over().batchSize(2).workers(1).build()) {
      try (Batches batches = loader.epoch(0)) {
        while (batches.hasNext()) {
          batches.next();
          Thread.sleep(20);
        }
      }
      LoaderStats stats = loader.stats();
      assertThat(stats.held()).isPositive().isLessThanOrEqualTo(stats.elapsed());
      assertThat(stats.handing()).isPositive().isLessThanOrEqualTo(stats.elapsed());
      assertThat(stats.freshSlabs()).isBetween(1L, 5L);
      assertThat(stats.copying()).isZero();
      assertThat(stats.awaitingDevice()).isZero();
    }
  }

  @Test
  void memoryIsFreshOnlyForTensorsThatAreKept() {
    try (DataLoader loader = data.over().batchSize(2).workers(0).build()) {
      drain(loader.epoch(0));
      drain(loader.epoch(1));
      assertThat(loader.stats().freshSlabs()).isBetween(1L, 4L);
      assertThat(loader.stats().handing()).isZero(); // without workers
      assertThat(loader.stats().held()).isZero();
      List<Tensor> tensors = new ArrayList<>();
      long before = loader.stats().freshSlabs();
      try (Batches batches = loader.epoch(2)) {
        batches.forEachRemaining(batch -> tensors.add(batch.tensor(0).detach()));
      }
      assertThat(loader.stats().freshSlabs() - before).isBetween(3L, 5L);
      tensors.forEach(Tensor::close);
    }
  }

  @Test
  void waitsOfAllPassesAddUp() {
    try (DataLoader loader = data.over().batchSize(4).build()) {
      long waited = 0;
      for (int epoch = 0; epoch < 3; epoch++) {
        try (Batches batches = loader.epoch(epoch)) {
          batches.forEachRemaining(batch -> {});
          waited += batches.waitNanos();
        }
      }
      LoaderStats stats = loader.stats();
      assertThat(stats.waited().toNanos()).isPositive().isLessThanOrEqualTo(waited);
      assertThat(stats.waited().plus(stats.starting()).toNanos()).isGreaterThanOrEqualTo(waited);
    }
  }

  @Test
  void aRecordingContainsEveryBatch(@TempDir Path folder) throws IOException, ParseException {
    List<RecordedEvent> events;
    try (Reader settings =
            new InputStreamReader(
                requireNonNull(DataLoader.class.getResourceAsStream("torchfeed.jfc")),
                StandardCharsets.UTF_8);
        Recording recording = new Recording(Configuration.create(settings))) {
      recording.start();
      try (DataLoader loader = data.over().batchSize(4).workers(2).build()) {
        drain(loader.epoch(5));
      }
      recording.stop();
      Path file = folder.resolve("loader.jfr");
      recording.dump(file);
      events = RecordingFile.readAllEvents(file);
    }
    List<RecordedEvent> waits = named(events, "io.torchfeed.BatchWait");
    assertThat(waits.stream().mapToLong(wait -> wait.getLong("batch")).sorted())
        .containsExactly(0L, 1L, 2L);
    assertThat(waits.stream().mapToLong(wait -> wait.getLong("rows")).sum()).isEqualTo(SIZE);
    assertThat(waits.stream().mapToLong(wait -> wait.getLong("bytes")).sum())
        .isEqualTo(SIZE * ROW_BYTES);
    assertThat(waits).allMatch(wait -> wait.getLong("epoch") == 5);
    List<RecordedEvent> gathers = named(events, "io.torchfeed.Gather");
    assertThat(gathers.stream().mapToLong(gather -> gather.getLong("batch")).sorted())
        .containsExactlyElementsOf(LongStream.range(0, 3).boxed().toList());
    assertThat(gathers).allMatch(gather -> gather.getDuration("gatherTime").toNanos() > 0);
  }

  private static List<RecordedEvent> named(List<RecordedEvent> events, String name) {
    return events.stream().filter(event -> event.getEventType().getName().equals(name)).toList();
  }
}
