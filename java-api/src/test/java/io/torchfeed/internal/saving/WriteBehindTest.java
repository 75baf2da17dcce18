// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal.saving;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.internal.saving.FaultyFile.Flush;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the bytes that go to the disk while others are written, without a disk. */
@Timeout(20)
class WriteBehindTest {
  private static final int PIECE = 1 << 20;
  private static final int FIRST_FLUSH = 32;
  private static final Flush NONE = () -> {};

  private final Path folder;

  WriteBehindTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private static void write(WriteBehind behind, int pieces) throws IOException {
    ByteBuffer piece = ByteBuffer.allocateDirect(PIECE);
    for (int i = 0; i < pieces; i++) {
      behind.write(piece.clear());
    }
  }

  @Test
  void aFlushBeginsWhileOtherBytesAreWritten() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    Flush flush =
        () -> {
          begun.countDown();
          goOn.await();
        };
    FaultyFile file = new FaultyFile(flush);
    try (WriteBehind behind = new WriteBehind(file)) {
      write(behind, FIRST_FLUSH);
      begun.await();
      write(behind, 5); // the flush has not ended
      goOn.countDown();
    }
    assertThat(file.written()).isEqualTo((FIRST_FLUSH + 5L) * PIECE);
  }

  @Test
  void closeWaitsForTheFlush() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    AtomicBoolean isEnded = new AtomicBoolean();
    WriteBehind behind =
        new WriteBehind(
            new FaultyFile(
                () -> {
                  begun.countDown();
                  Thread.sleep(50);
                  isEnded.set(true);
                }));
    write(behind, FIRST_FLUSH);
    begun.await();
    Thread.currentThread().interrupt();
    behind.close();
    assertThat(isEnded).isTrue();
    assertThat(Thread.interrupted()).isTrue();
  }

  @Test
  void aFlushFollowsTheOneBeforeOnlyAfterMoreBytes() throws Exception {
    AtomicInteger count = new AtomicInteger();
    CountDownLatch two = new CountDownLatch(2);
    Flush flush =
        () -> {
          count.incrementAndGet();
          two.countDown();
        };
    try (WriteBehind behind = new WriteBehind(new FaultyFile(flush))) {
      write(behind, FIRST_FLUSH - 1);
      assertThat(count).hasValue(0);
      while (two.getCount() > 0 && !Thread.currentThread().isInterrupted()) {
        write(behind, 1);
      }
    }
    assertThat(count).hasValueGreaterThanOrEqualTo(2);
  }

  /** The system reports it to the first flush alone, so that the last one of the caller passes. */
  @Test
  void aFailureOfAFlushIsThrownByTheNextWriteAndByClose() throws Exception {
    Flush flush =
        () -> {
          throw new IOException("No space left on device");
        };
    WriteBehind behind = new WriteBehind(new FaultyFile(flush));
    assertThatExceptionOfType(IOException.class)
        .isThrownBy(
            () -> {
              while (!Thread.currentThread().isInterrupted()) {
                write(behind, 1);
              }
            })
        .withMessage("No space left on device");
    assertThatExceptionOfType(IOException.class).isThrownBy(behind::close);

    WriteBehind last = new WriteBehind(new FaultyFile(flush));
    assertThatExceptionOfType(IOException.class)
        .isThrownBy(
            () -> {
              try (last) {
                write(last, FIRST_FLUSH);
                Thread.sleep(20); // most likely it has failed, and nothing is written after it
              }
            })
        .withMessage("No space left on device");
  }

  @Test
  void errorsOfAFlushAreToldToo() throws Exception {
    Flush flush =
        () -> {
          throw new OutOfMemoryError("for a test");
        };
    WriteBehind behind = new WriteBehind(new FaultyFile(flush));
    assertThatExceptionOfType(IOException.class)
        .isThrownBy(
            () -> {
              while (!Thread.currentThread().isInterrupted()) {
                write(behind, 1);
              }
            })
        .withCauseInstanceOf(OutOfMemoryError.class);
    assertThatExceptionOfType(IOException.class).isThrownBy(behind::close);
  }

  @Test
  void fewBytesNeedNoThread() throws Exception {
    Thread[] before = new Thread[Thread.activeCount() * 2 + 8];
    try (WriteBehind behind = new WriteBehind(new FaultyFile(NONE))) {
      write(behind, FIRST_FLUSH - 1);
      int count = Thread.enumerate(before);
      for (int i = 0; i < count; i++) {
        assertThat(before[i].getName()).isNotEqualTo("torchfeed-flush");
      }
    }
  }

  @Test
  void allBytesAreInTheFile() throws IOException {
    Path path = folder.resolve("file");
    try (FileChannel file =
            FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
        WriteBehind behind = new WriteBehind(file)) {
      write(behind, FIRST_FLUSH * 2 + 3);
      assertThat(behind.isOpen()).isTrue();
    }
    assertThat(path).hasSize((FIRST_FLUSH * 2L + 3) * PIECE);
  }

  @Test
  void aCloseWithoutBytesIsNoError() {
    assertThatCode(() -> new WriteBehind(new FaultyFile(NONE)).close()).doesNotThrowAnyException();
  }
}
