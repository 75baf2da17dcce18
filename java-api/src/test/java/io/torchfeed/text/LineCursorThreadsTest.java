// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class LineCursorThreadsTest {
  private static final LineOptions SMALL =
      LineOptions.defaults().withBufferBytes(64).withMaxLineBytes(1 << 20);

  @Test
  @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void twoThreadsAtOnceAreNamed(@TempDir Path folder) throws Exception {
    Path file = Lines.file(folder, "lines", "one\ntwenty-two\n\nthree\n".repeat(2_000));
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try {
      int named = 0;
      while (named < 20) {
        try (LineCursor cursor = TextPartition.plan(Lines.names(file), 1).open(0, SMALL)) {
          for (Throwable failure : failuresOf(cursor, threads)) {
            assertThat(failure)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageMatching("the cursor of .* was used by two threads at once, .*");
            named++;
          }
        }
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static List<Throwable> failuresOf(LineCursor cursor, ExecutorService threads)
      throws InterruptedException {
    List<Future<?>> readers = new ArrayList<>();
    for (int i = 0; i < 2; i++) {
      readers.add(
          threads.submit(
              () -> {
                while (cursor.next()) {
                  assertThat(cursor.text()).isNotNull();
                }
              }));
    }
    List<Throwable> failures = new ArrayList<>();
    for (Future<?> reader : readers) {
      try {
        reader.get();
      } catch (ExecutionException e) {
        failures.add(e.getCause());
      }
    }
    return failures;
  }
}
