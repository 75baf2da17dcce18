// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.testing.Cursors;
import java.util.Arrays;
import java.util.concurrent.CompletionService;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of a pass over an epoch: reading, seeking, closing. */
class CursorTest {
  static Stream<Sampler> samplers() {
    return Stream.of(
        DistributedRandomSampler.of(20_001, new Part(2, 1)),
        DistributedRandomSampler.of(2, new Part(5, 1)),
        DistributedSequentialSampler.of(20_001, new Part(2, 1)),
        RandomSampler.of(20_001, 9),
        SequentialSampler.of(20_001));
  }

  @ParameterizedTest
  @MethodSource("samplers")
  void seekEqualsSkip(Sampler sampler) {
    long size = sampler.size();
    long[] all = Cursors.indices(sampler, 3);
    try (Cursor cursor = sampler.epoch(3)) {
      for (long position : new long[] {size, 0, size / 2, 1, size - 1, 0}) {
        cursor.seek(position);
        assertThat(cursor.position()).isEqualTo(position);
        assertThat(cursor.remaining()).isEqualTo(size - position);
        assertThat(Cursors.next(cursor, Math.toIntExact(size) + 7))
            .isEqualTo(Arrays.copyOfRange(all, (int) position, all.length));
        assertThat(cursor.position()).isEqualTo(size);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("samplers")
  void aNewCursorContinuesAtARestoredPosition(Sampler sampler) {
    try (Cursor first = sampler.epoch(1)) {
      Cursors.next(first, 1 + (int) sampler.size() / 3);
      try (Cursor second = sampler.epoch(1)) {
        second.seek(first.position());
        assertThat(Cursors.rest(second)).isEqualTo(Cursors.rest(first));
      }
    }
  }

  @ParameterizedTest
  @MethodSource("samplers")
  void cursorsOfOneSamplerAreIndependent(Sampler sampler) {
    long[] all = Cursors.indices(sampler, 0);
    try (Cursor first = sampler.epoch(0);
        Cursor second = sampler.epoch(0);
        Cursor other = sampler.epoch(1)) {
      long[] merged = new long[all.length];
      for (int i = 0; i < merged.length; i++) {
        merged[i] = Cursors.next(i % 2 == 0 ? first : second, 1)[0];
        (i % 2 == 0 ? second : first).seek(i + 1);
        other.seek(0);
      }
      assertThat(merged).isEqualTo(all);
    }
  }

  @Test
  void indicesAreWrittenOnlyToTheRequestedRange() {
    try (Cursor cursor = SequentialSampler.of(5).epoch(0)) {
      long[] into = LongStream.generate(() -> -1).limit(8).toArray();
      assertThat(cursor.next(into, 2, 3)).isEqualTo(3);
      assertThat(into).containsExactly(-1, -1, 0, 1, 2, -1, -1, -1);
      assertThat(cursor.next(into, 4, 4)).isEqualTo(2);
      assertThat(into).containsExactly(-1, -1, 0, 1, 3, 4, -1, -1);
      assertThat(cursor.next(into, 0, 1)).isZero();
    }
  }

  @ParameterizedTest
  @CsvSource({"-1, 1", "0, 5", "4, 1", "2, 3", "2147483647, 1", "0, -1"})
  void rangesThatDoNotFitTheArrayAreRefused(int from, int count) {
    try (Cursor cursor = SequentialSampler.of(5).epoch(0)) {
      assertThatThrownBy(() -> cursor.next(new long[4], from, count))
          .isInstanceOf(IndexOutOfBoundsException.class);
      assertThat(cursor.position()).isZero();
    }
  }

  @Test
  void readingZeroIndicesIsRefused() {
    try (Cursor cursor = SequentialSampler.of(5).epoch(0)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> cursor.next(new long[4], 0, 0))
          .withMessage("count must be at least 1, got 0");
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, 6, Long.MIN_VALUE, Long.MAX_VALUE})
  void positionsOutsideTheEpochAreRefused(long position) {
    try (Cursor cursor = SequentialSampler.of(5).epoch(0)) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> cursor.seek(position))
          .withMessage("position must be in [0, 5], got " + position);
    }
  }

  @Test
  void closingTwiceIsSilent() {
    Cursor cursor = RandomSampler.of(5, 0).epoch(0);
    cursor.close();
    cursor.close();
  }

  @Test
  void everyCallAfterCloseReportsWhichCursorIsClosed() {
    Cursor cursor = RandomSampler.of(5, 7).epoch(0);
    cursor.close();
    for (Consumer<Cursor> call :
        Stream.<Consumer<Cursor>>of(
                c -> c.next(new long[1], 0, 1), Cursor::position, Cursor::remaining, c -> c.seek(0))
            .toList()) {
      assertThatThrownBy(() -> call.accept(cursor))
          .isInstanceOf(IllegalStateException.class)
          .hasMessage("the cursor of RandomSampler[datasetSize=5, seed=7] is closed");
    }
  }

  @ParameterizedTest
  @MethodSource("samplers")
  @Timeout(value = 20, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void twoThreadsInOneCursorAreNamed(Sampler sampler) throws Exception {
    ExecutorService readers = Executors.newFixedThreadPool(2);
    CompletionService<Object> ends = new ExecutorCompletionService<>(readers);
    try (Cursor cursor = sampler.epoch(0)) {
      for (int i = 0; i < 2; i++) {
        ends.submit(() -> readIndefinitely(cursor, new CountDownLatch(1)), cursor);
      }
      assertThatThrownBy(() -> ends.take().get())
          .hasCauseInstanceOf(IllegalStateException.class)
          .hasMessageMatching(".*the cursor of .*Sampler.* was used by two threads at once, .*");
    } finally {
      readers.shutdownNow();
      assertThat(readers.awaitTermination(20, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  void closingFailsAConcurrentReader() throws Exception {
    ExecutorService reader = Executors.newSingleThreadExecutor();
    try {
      for (int round = 0; round < 200; round++) {
        Cursor cursor = DistributedRandomSampler.of(50_000, Part.whole()).epoch(round);
        CountDownLatch reading = new CountDownLatch(1);
        Future<?> end = reader.submit(() -> readIndefinitely(cursor, reading));
        reading.await();
        cursor.close();
        assertThatThrownBy(() -> end.get(20, TimeUnit.SECONDS))
            .hasCauseInstanceOf(IllegalStateException.class)
            .hasMessageContaining("is closed");
      }
    } finally {
      reader.shutdownNow();
    }
  }

  private static void readIndefinitely(Cursor cursor, CountDownLatch reading) {
    long[] into = new long[30_000];
    while (true) {
      cursor.next(into, 0, into.length);
      cursor.seek(0);
      reading.countDown();
    }
  }
}
