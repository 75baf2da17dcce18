// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.storage.ByteSourceException.Problem;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReadAheadTest {
  private static final int SIZE = 10_000;
  private static final byte[] ALL = HttpSourceTest.bytes(SIZE, 1);

  /** A source that counts its reads, and may hold them up or fail. */
  private static final class Counted implements ByteSource {
    final Map<Long, Integer> reads = new ConcurrentSkipListMap<>();
    final AtomicInteger running = new AtomicInteger();
    volatile CountDownLatch gate = new CountDownLatch(0);
    volatile CountDownLatch arrivals = new CountDownLatch(0);
    volatile long failsFrom = SIZE;
    volatile boolean isDeaf;
    volatile boolean isClosed;

    @Override
    public String name() {
      return "store/a";
    }

    @Override
    public long size() {
      return SIZE;
    }

    @Override
    public int read(long offset, ByteBuffer into) throws IOException {
      reads.merge(offset, 1, Integer::sum);
      running.incrementAndGet();
      arrivals.countDown();
      try {
        await();
      } finally {
        running.decrementAndGet();
      }
      if (offset >= SIZE) {
        return -1;
      } else if (offset >= failsFrom) {
        throw new ByteSourceException(name(), Problem.DENIED, offset, "not for you", null);
      }
      int count = (int) Math.min(into.remaining(), SIZE - offset);
      into.put(ALL, (int) offset, count);
      return count;
    }

    private void await() throws IOException {
      while (true) {
        try {
          gate.await();
          return;
        } catch (InterruptedException e) {
          if (!isDeaf) {
            throw new IOException("interrupted", e);
          }
        }
      }
    }

    @Override
    public void close() {
      isClosed = true;
    }
  }

  @ParameterizedTest
  @CsvSource({"1000, 4, 100", "1000, 2, 333", "999, 3, 5000", "1, 2, 7", "20000, 8, 64"})
  void readersFromBeginToEndGetAllBytes(int rangeBytes, int ranges, int step) throws IOException {
    Counted source = new Counted();
    try (ReadAhead ahead = ReadAhead.of(source, rangeBytes, ranges)) {
      ByteBuffer all = ByteBuffer.allocate(SIZE);
      while (all.limit(Math.min(all.position() + step, SIZE)).hasRemaining()) {
        ahead.readFully(all.position(), all);
      }
      assertThat(all.array()).isEqualTo(ALL);
      assertThat(ahead.read(SIZE, ByteBuffer.allocate(1))).isEqualTo(-1);
      assertThat(ahead.size()).isEqualTo(SIZE);
      assertThat(ahead.name()).isEqualTo("store/a");
    }
    assertThat(source.isClosed).isTrue();
    source.reads.put(0L, 1); // the first read is of no sequence yet
    if (rangeBytes >= step) {
      assertThat(source.reads.values()).containsOnly(1);
      assertThat(source.reads.keySet()).allSatisfy(at -> assertThat(at % rangeBytes).isZero());
    }
  }

  @Test
  void rangesAreRequestedAtTheSameTimeAndNoMoreThanFit() throws Exception {
    Counted source = new Counted();
    try (ReadAhead ahead = ReadAhead.of(source, 1000, 4)) {
      assertThat(HttpSourceTest.read(ahead, 0, 10)).isEqualTo(Arrays.copyOf(ALL, 10));
      source.arrivals = new CountDownLatch(3);
      source.gate = new CountDownLatch(1);
      FutureTask<byte[]> reading = new FutureTask<>(() -> HttpSourceTest.read(ahead, 10, 10));
      new Thread(reading).start();
      source.arrivals.await();
      assertThat(source.running).hasValue(3);
      source.gate.countDown();
      assertThat(reading.get()).isEqualTo(Arrays.copyOfRange(ALL, 10, 20));
      while (source.reads.size() < 4) {
        Thread.onSpinWait();
      }
      assertThat(source.reads.keySet()).containsExactly(0L, 1000L, 2000L, 3000L);
    }
  }

  @Test
  void aReaderAsksTheSourceWhereOthersUseAllRanges() throws Exception {
    Counted source = new Counted();
    try (ReadAhead ahead = ReadAhead.of(source, 1000, 4)) {
      assertThat(HttpSourceTest.read(ahead, 0, 10)).hasSize(10);
      assertThat(HttpSourceTest.read(ahead, 5000, 10)).hasSize(10);
      source.arrivals = new CountDownLatch(3);
      source.gate = new CountDownLatch(1);
      FutureTask<byte[]> first = new FutureTask<>(() -> HttpSourceTest.read(ahead, 10, 10));
      FutureTask<byte[]> second = new FutureTask<>(() -> HttpSourceTest.read(ahead, 5010, 10));
      new Thread(first).start();
      source.arrivals.await(); // the four ranges from there on are asked for
      Thread other = new Thread(second);
      other.start();
      while (other.getState() != Thread.State.WAITING) {
        Thread.onSpinWait();
      }
      source.gate.countDown();
      assertThat(first.get()).isEqualTo(Arrays.copyOfRange(ALL, 10, 20));
      assertThat(second.get()).isEqualTo(Arrays.copyOfRange(ALL, 5010, 5020));
      assertThat(source.reads).containsEntry(5010L, 1).containsEntry(5000L, 1);
    }
  }

  @Test
  void readsOfRandomPositionsGoToTheSource() throws IOException {
    Counted source = new Counted();
    try (ReadAhead ahead = ReadAhead.of(source, 1000, 4)) {
      for (int at : new int[] {5000, 300, 9000, 42}) {
        assertThat(HttpSourceTest.read(ahead, at, 10))
            .isEqualTo(Arrays.copyOfRange(ALL, at, at + 10));
      }
      assertThat(source.reads.keySet()).containsExactly(42L, 300L, 5000L, 9000L);
    }
  }

  @Test
  void manyReadersShareTheRanges() throws Exception {
    ExecutorService readers = Executors.newFixedThreadPool(8);
    try (ReadAhead ahead = ReadAhead.of(new Counted(), 128, 3)) {
      List<Future<?>> done =
          IntStream.range(0, 8)
              .<Future<?>>mapToObj(
                  reader ->
                      readers.submit(
                          () -> {
                            Random random = new Random(reader);
                            int at = reader * SIZE / 8;
                            for (int i = 0; i < 3000; i++) {
                              at = random.nextInt(50) == 0 ? random.nextInt(SIZE) : at;
                              int count = Math.min(1 + random.nextInt(200), SIZE - at);
                              assertThat(HttpSourceTest.read(ahead, at, count))
                                  .isEqualTo(Arrays.copyOfRange(ALL, at, at + count));
                              at = at + count == SIZE ? 0 : at + count;
                            }
                            return null;
                          }))
              .toList();
      for (Future<?> each : done) {
        each.get();
      }
    } finally {
      readers.shutdownNow();
    }
  }

  @Test
  void aFailureIsThrownWhereItsBytesAreReadAndForgotten() throws IOException {
    Counted source = new Counted();
    source.failsFrom = 2000;
    try (ReadAhead ahead = ReadAhead.of(source, 1000, 4)) {
      for (int at = 0; at < 2000; at += 500) {
        assertThat(HttpSourceTest.read(ahead, at, 500)).hasSize(500);
      }
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(() -> HttpSourceTest.read(ahead, 2000, 1))
          .withMessage("store/a cannot be read at byte 2000: not for you")
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.DENIED));
      source.failsFrom = SIZE;
      assertThat(HttpSourceTest.read(ahead, 2000, 9))
          .isEqualTo(Arrays.copyOfRange(ALL, 2000, 2009));
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void closingEndsReadersThatWait(boolean isDeaf) throws Exception {
    Counted source = new Counted();
    source.isDeaf = isDeaf;
    ReadAhead ahead = ReadAhead.of(source, 1000, 4);
    assertThat(HttpSourceTest.read(ahead, 0, 10)).hasSize(10);
    source.arrivals = new CountDownLatch(1);
    source.gate = new CountDownLatch(1);
    FutureTask<byte[]> reading = new FutureTask<>(() -> HttpSourceTest.read(ahead, 10, 10));
    new Thread(reading).start();
    source.arrivals.await();
    ahead.close();
    ahead.close();
    assertThat(reading)
        .failsWithin(Duration.ofSeconds(50))
        .withThrowableThat()
        .havingRootCause()
        .isInstanceOf(ClosedChannelException.class);
    if (isDeaf) {
      source.gate.countDown();
    }
    while (source.running.get() > 0) { // their threads are interrupted
      Thread.onSpinWait();
    }
    assertThatExceptionOfType(ClosedChannelException.class)
        .isThrownBy(() -> ahead.read(0, ByteBuffer.allocate(1)));
  }

  @Test
  void anInterruptEndsAReaderThatWaits() throws Exception {
    Counted source = new Counted();
    try (ReadAhead ahead = ReadAhead.of(source, 1000, 4)) {
      assertThat(HttpSourceTest.read(ahead, 0, 10)).hasSize(10);
      source.gate = new CountDownLatch(1);
      FutureTask<Boolean> interrupted =
          new FutureTask<>(
              () -> {
                Thread.currentThread().interrupt();
                assertThatExceptionOfType(ByteSourceException.class)
                    .isThrownBy(() -> HttpSourceTest.read(ahead, 10, 10))
                    .withMessage("store/a cannot be read at byte 10: the thread was interrupted");
                return Thread.interrupted();
              });
      new Thread(interrupted).start();
      assertThat(interrupted.get()).isTrue();
      source.gate.countDown();
      assertThat(HttpSourceTest.read(ahead, 10, 10)).isEqualTo(Arrays.copyOfRange(ALL, 10, 20));
    }
  }

  @Test
  void aFileOverHttpIsCopiedInFewRequests(@TempDir Path folder) throws IOException {
    byte[] content = HttpSourceTest.bytes(5_000_000, 3);
    try (FaultServer server = new FaultServer(content)) {
      server.headers.put("ETag", "\"one\"");
      try (ReadAhead ahead = ReadAhead.of(HttpSource.of(server.uri("/a")), 2_000_000, 3)) {
        ahead.copyTo(folder.resolve("a"));
        assertThat(ahead.version()).isEqualTo("\"one\"");
      }
      assertThat(folder.resolve("a")).hasBinaryContent(content);
      assertThat(server.requests).hasSizeLessThanOrEqualTo(5);
    }
  }

  @Test
  void wrongNumbersAreRefused() {
    Counted source = new Counted();
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ReadAhead.of(source, 0, 4))
        .withMessage("rangeBytes must be in [1, 1073741824], got 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> ReadAhead.of(source, 1, 1))
        .withMessage("ranges must be in [2, 64], got 1");
  }
}
