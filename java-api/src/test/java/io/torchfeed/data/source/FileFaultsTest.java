// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.data.RowFiles;
import io.torchfeed.data.Rows;
import io.torchfeed.data.SampleException;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.memory.DType;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of failing files and of closing at any moment. Row i of the file is 16 copies of i. */
class FileFaultsTest {
  private static final int SIZE = 256;
  private static final int WIDTH = 16;
  private static final int ROW_BYTES = 8 * WIDTH;
  private static final int BATCH = 4;

  private final Path folder;

  FileFaultsTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private Path write() {
    ByteBuffer rows = ByteBuffer.allocate(SIZE * ROW_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    for (int i = 0; i < SIZE * WIDTH; i++) {
      rows.putLong(i / WIDTH);
    }
    return RowFiles.write(folder.resolve("rows"), rows.array());
  }

  private FileDataset open() {
    return FileDataset.of(FileColumn.raw(RowLayout.of(DType.INT64, WIDTH), write()));
  }

  private static DataLoader loader(FileDataset data, int workers) {
    return DataLoader.over(data)
        .sampler(DistributedRandomSampler.of(SIZE, Part.whole()))
        .batchSize(BATCH)
        .workers(workers)
        .build();
  }

  private static void assertHoldsItsRows(Batch batch) {
    long[] expected =
        LongStream.of(batch.indices())
            .flatMap(index -> LongStream.generate(() -> index).limit(WIDTH))
            .toArray();
    assertThat(Rows.longs(batch.tensor(0))).isEqualTo(expected);
  }

  private static void assertDeliversAllRows(DataLoader loader, long epoch) {
    try (Batches batches = loader.epoch(epoch)) {
      for (Batch batch : batches) {
        assertHoldsItsRows(batch);
      }
      assertThat(batches.position()).isEqualTo(SIZE / BATCH);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3})
  void aFileTruncatedInMidEpochFailsTheBatchesThatNeedMissingRows(int workers) throws IOException {
    long left = 200;
    long[][] order = new long[SIZE / BATCH][];
    try (FileDataset data = open();
        DataLoader loader = loader(data, workers)) {
      try (Batches batches = loader.epoch(0)) {
        for (Batch batch : batches) {
          order[(int) batch.number()] = batch.indices();
        }
      }

      int failed = 0;
      try (Batches batches = loader.epoch(0)) {
        for (int i = 0; i < 10; i++) {
          assertHoldsItsRows(batches.next());
        }
        RowFiles.truncate(folder.resolve("rows"), left * ROW_BYTES + 5);

        int ahead = workers == 0 ? 0 : loader.prefetch();
        int readBefore = 10 + ahead; // may have been read before the truncation
        while (batches.hasNext()) {
          int number = (int) batches.position();
          LongStream gone = LongStream.of(order[number]).filter(index -> index >= left);
          long firstGone = gone.findFirst().orElse(-1);
          try {
            assertHoldsItsRows(batches.next());
            assertThat(firstGone < 0 || number < readBefore).isTrue();
          } catch (SampleException e) {
            failed++;
            assertThat(e.index()).isEqualTo(firstGone);
            assertThat(e.epoch()).isZero();
            assertThat(e.batch()).isEqualTo(number);
            assertThat(e)
                .hasMessage(
                    "sample %d of epoch 0, batch %d: %s: row %d, bytes %d to %d, cannot be read:"
                        + " the file now has 25605 bytes, but had 32768 when it was opened",
                    firstGone,
                    number,
                    folder.resolve("rows"),
                    firstGone,
                    firstGone * ROW_BYTES,
                    (firstGone + 1) * ROW_BYTES)
                .hasCauseInstanceOf(RuntimeException.class);
          }
        }
        assertThat(batches.position()).isEqualTo(SIZE / BATCH);
      }
      assertThat(failed).isGreaterThan(10);

      write();
      assertDeliversAllRows(loader, 0); // as if nothing had happened
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void aFileTruncatedToNothingFailsAllBatchesAndEndsTheEpoch(int workers) throws IOException {
    try (FileDataset data = open();
        DataLoader loader = loader(data, workers)) {
      RowFiles.truncate(folder.resolve("rows"), 0);
      try (Batches batches = loader.epoch(3)) {
        for (int i = 0; i < SIZE / BATCH; i++) {
          int number = i;
          assertThatExceptionOfType(SampleException.class)
              .isThrownBy(batches::next)
              .withMessageContaining("the file now has 0 bytes")
              .satisfies(e -> assertThat(e.batch()).isEqualTo(number));
        }
        assertThat(batches.hasNext()).isFalse();
      }
    }
  }

  @Test
  void aDeletedFileRemainsReadable() throws IOException {
    try (FileDataset data = open();
        DataLoader loader = loader(data, 2)) {
      Files.delete(folder.resolve("rows"));
      assertDeliversAllRows(loader, 0);
    }
  }

  @Test
  void aSystemErrorIsReported() {
    Path failing = Path.of("/sys/class/net/lo/speed"); // claims 4096 bytes, but cannot be read
    assumeTrue(Files.isRegularFile(failing), failing + " does not exist");
    RowLayout layout = RowLayout.of(DType.UINT8, 2048);
    try (FileDataset data = FileDataset.of(FileColumn.raw(layout, failing));
        DataLoader loader = DataLoader.over(data).batchSize(2).build();
        Batches batches = loader.epoch(0)) {
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(batches::next)
          .withMessage(
              "sample 0 of epoch 0, batch 0: /sys/class/net/lo/speed: row 0, bytes 0 to 2048,"
                  + " cannot be read: Invalid argument");
      assertThat(batches.hasNext()).isFalse();
    }
  }

  @Test
  void aGrowingFileKeepsItsRows() throws IOException {
    try (FileDataset data = open();
        DataLoader loader = loader(data, 1)) {
      Files.write(folder.resolve("rows"), new byte[100], java.nio.file.StandardOpenOption.APPEND);
      assertDeliversAllRows(loader, 0);
    }
  }

  @Test
  void filesAreClosedByTheirLastUser() throws IOException {
    FileDataset data = open();
    assertThat(RowFiles.openIn(folder)).isEqualTo(1);
    DataLoader first = loader(data, 1);
    DataLoader second = loader(data, 0);
    data.close();
    data.close();
    assertDeliversAllRows(first, 0);
    try (Batches one = first.epoch(0);
        Batches two = first.epoch(1)) { // concurrent passes have separate engines
      assertThat(one.hasNext()).isTrue();
      assertHoldsItsRows(two.next());
      first.close();
    }
    assertThat(RowFiles.openIn(folder)).isEqualTo(1);
    assertDeliversAllRows(second, 0);
    second.close();
    assertThat(RowFiles.openIn(folder)).isZero();
  }

  @Test
  void useAfterCloseReportsWhatIsClosed() {
    FileDataset data = open();
    data.close();
    assertThatIllegalStateException()
        .isThrownBy(() -> loader(data, 1))
        .withMessage("FileDataset is closed");
    assertThat(data.size()).isEqualTo(SIZE); // known without the file
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 3})
  void closingFromAnotherThreadEndsTheConsumerWithAnException(int workers) throws Exception {
    Random random = new Random(11);
    try (FileDataset data = open()) {
      for (int round = 0; round < 200; round++) {
        DataLoader loader = loader(data, workers);
        int nanos = random.nextInt(300_000);
        Thread closer =
            new Thread(
                () -> {
                  LockSupport.parkNanos(nanos);
                  loader.close();
                });
        closer.start();
        assertThatIllegalStateException()
            .isThrownBy(
                () -> {
                  for (long epoch = 0; ; epoch++) {
                    assertDeliversAllRows(loader, epoch);
                  }
                });
        closer.join();
      }
      assertThat(RowFiles.openIn(folder)).isEqualTo(1);
    }
    assertThat(RowFiles.openIn(folder)).isZero();
  }
}
