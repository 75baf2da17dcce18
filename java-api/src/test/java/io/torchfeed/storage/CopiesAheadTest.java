// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.storage.ByteSourceException.Problem;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CopiesAheadTest {
  private final Path folder;
  private final Semaphore begun = new Semaphore(0);
  private final List<Gate> sources =
      IntStream.range(0, 9).mapToObj(i -> new Gate("data/" + i, begun)).toList();

  CopiesAheadTest(@TempDir Path folder) {
    this.folder = folder.resolve("cache");
  }

  /** A source of its name, which is read once it is open. */
  private static final class Gate implements ByteSource {
    private final String name;
    private final Semaphore begun;
    private final CountDownLatch open = new CountDownLatch(1);
    private volatile boolean fails;
    private volatile boolean isClosed;

    Gate(String name, Semaphore begun) {
      this.name = name;
      this.begun = begun;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public long size() {
      return name.length();
    }

    @Override
    public int read(long offset, ByteBuffer into) throws IOException {
      begun.release();
      try {
        open.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new ByteSourceException(name, Problem.INTERRUPTED, offset, "interrupted", e);
      }
      if (fails) {
        throw new IOException("no route to the store");
      }
      byte[] all = name.getBytes(US_ASCII);
      int count = Math.min(into.remaining(), all.length - (int) offset);
      into.put(all, (int) offset, count);
      return count;
    }

    @Override
    public void close() {
      isClosed = true;
    }
  }

  private CachedFiles open() {
    return CachedFiles.of(folder, 1 << 20);
  }

  private void awaitBegun(int count) throws InterruptedException {
    assertThat(begun.tryAcquire(count, 60, TimeUnit.SECONDS)).isTrue();
  }

  private void requireNoMoreBegin() throws InterruptedException {
    assertThat(begun.tryAcquire(1, 200, TimeUnit.MILLISECONDS)).isFalse();
  }

  @Test
  void filesComeInOrderWhileTheNextAreCopied() throws Exception {
    List<String> texts = new ArrayList<>();
    try (CachedFiles files = open();
        CopiesAhead copies = files.ahead(sources, 3)) {
      sources.forEach(each -> each.open.countDown());
      assertThat(copies.hasNext()).isTrue();
      requireNoMoreBegin();
      texts.add(Files.readString(copies.next()));
      awaitBegun(4); // one taken, three ahead
      requireNoMoreBegin();
      while (copies.hasNext()) {
        texts.add(Files.readString(copies.next()));
      }
      assertThatExceptionOfType(NoSuchElementException.class)
          .isThrownBy(copies::next)
          .withMessage("all 9 files were taken");
    }
    assertThat(texts).containsExactlyElementsOf(sources.stream().map(Gate::name).toList());
    assertThat(sources).allMatch(each -> each.isClosed);
  }

  @Test
  void aSlowSourceDoesNotStopThoseBehindIt() throws Exception {
    try (CachedFiles files = open();
        CopiesAhead copies = files.ahead(sources, 2)) {
      sources.get(1).open.countDown();
      Thread opener =
          new Thread(
              () -> {
                begun.acquireUninterruptibly(2);
                sources.get(0).open.countDown();
              });
      opener.start();
      assertThat(copies.next()).hasContent("data/0");
      assertThat(copies.next()).hasContent("data/1");
      opener.join();
    }
  }

  @Test
  void aFailureIsThrownInItsPlace() throws Exception {
    sources.get(1).fails = true;
    sources.forEach(each -> each.open.countDown());
    try (CachedFiles files = open();
        CopiesAhead copies = files.ahead(sources, 2)) {
      assertThat(copies.next()).hasContent("data/0");
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(copies::next)
          .withMessageContaining("data/1")
          .withMessageContaining("no route to the store");
      assertThat(copies.next()).hasContent("data/2");
    }
  }

  @Test
  void anInterruptLosesNoFile() throws Exception {
    try (CachedFiles files = open();
        CopiesAhead copies = files.ahead(sources, 2)) {
      Thread.currentThread().interrupt();
      assertThatExceptionOfType(ByteSourceException.class)
          .isThrownBy(copies::next)
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.INTERRUPTED))
          .withMessageContaining("data/0");
      assertThat(Thread.interrupted()).isTrue();
      sources.forEach(each -> each.open.countDown());
      for (Gate each : sources) {
        assertThat(copies.next()).hasContent(each.name);
      }
    }
  }

  @Test
  void closeEndsCopiesAndKeepsWhatIsComplete() throws Exception {
    Path first;
    try (CachedFiles files = open()) {
      CopiesAhead copies = files.ahead(sources, 3);
      sources.get(0).open.countDown();
      first = copies.next();
      awaitBegun(4); // three wait for bytes
      copies.close();
      copies.close();
      assertThat(sources).allMatch(each -> each.isClosed);
      assertThatIllegalStateException()
          .isThrownBy(copies::next)
          .withMessage("CopiesAhead is closed");
      for (Thread thread : Thread.getAllStackTraces().keySet()) {
        if (thread.getName().equals("torchfeed-copy")) {
          thread.join(10_000); // it may be about to end
          assertThat(thread.isAlive()).isFalse();
        }
      }
    }
    assertThat(first).hasContent("data/0");
    try (Stream<Path> all = Files.walk(folder)) {
      assertThat(all.filter(each -> requireNonNull(each.getFileName()).toString().matches("\\d")))
          .containsExactly(first);
    }
  }

  @Test
  void aThreadThatWaitsForAFileLearnsThatTheCopiesAreClosed() throws Exception {
    ExecutorService readers = Executors.newSingleThreadExecutor();
    try (CachedFiles files = open()) {
      CopiesAhead copies = files.ahead(sources, 1);
      Future<Path> waiting = readers.submit(copies::next);
      awaitBegun(1);
      copies.close();
      assertThatThrownBy(waiting::get)
          .cause()
          .isInstanceOf(IllegalStateException.class)
          .hasMessage("CopiesAhead is closed");
    } finally {
      readers.shutdownNow();
    }
  }

  @Test
  void moreFilesThanFitAreGivenIfEachIsReleased() throws Exception {
    sources.forEach(each -> each.open.countDown());
    int room = 2 * "data/0".length(); // one in use, and one ahead
    try (CachedFiles files = CachedFiles.of(folder, room);
        CopiesAhead copies = files.ahead(sources, 1)) {
      for (Gate each : sources) {
        Path path = copies.next();
        assertThat(path).hasContent(each.name);
        files.release(path);
      }
    }
  }

  @Test
  void filesThatAreClosedGiveNoMore() throws Exception {
    CachedFiles files = open();
    files.close();
    sources.forEach(each -> each.open.countDown());
    try (CopiesAhead copies = files.ahead(sources, 1)) {
      assertThatIllegalStateException()
          .isThrownBy(copies::next)
          .withMessage("CachedFiles is closed");
    }
    assertThat(sources).allMatch(each -> each.isClosed);
  }

  @Test
  void threadsThatShareCopiesGetEachFileOnce() throws Exception {
    sources.forEach(each -> each.open.countDown());
    ExecutorService readers = Executors.newFixedThreadPool(3);
    try (CachedFiles files = open();
        CopiesAhead copies = files.ahead(sources, 2)) {
      List<Future<String>> texts = new ArrayList<>();
      for (int i = 0; i < sources.size(); i++) {
        texts.add(readers.submit(() -> Files.readString(copies.next())));
      }
      List<String> taken = new ArrayList<>();
      for (Future<String> text : texts) {
        taken.add(text.get());
      }
      assertThat(taken)
          .containsExactlyInAnyOrderElementsOf(sources.stream().map(Gate::name).toList());
    } finally {
      readers.shutdownNow();
    }
  }

  @Test
  void wrongNumbersAreRefused() throws Exception {
    try (CachedFiles files = open()) {
      for (int copies : new int[] {0, 65}) {
        assertThatIllegalArgumentException()
            .isThrownBy(() -> files.ahead(sources, copies))
            .withMessage("copies must be in [1, 64], got " + copies);
      }
    }
  }

  @Test
  void pathsAndFoldersAreCopiedSeveralAtATime() throws Exception {
    Thread opener =
        new Thread(
            () -> {
              begun.acquireUninterruptibly(8); // of 9
              sources.forEach(each -> each.open.countDown());
            });
    opener.start();
    try (CachedFiles files = open()) {
      List<Path> paths = files.paths(sources);
      for (int i = 0; i < paths.size(); i++) {
        assertThat(paths.get(i)).hasContent(sources.get(i).name);
      }
      opener.join();
      begun.drainPermits();
      List<Gate> again = sources.stream().map(each -> new Gate(each.name, begun)).toList();
      Thread second =
          new Thread(
              () -> {
                begun.acquireUninterruptibly(8);
                again.forEach(each -> each.open.countDown());
              });
      second.start();
      Path all = files.folder(again);
      for (Gate each : again) {
        assertThat(all.resolve(each.name.substring("data/".length()))).hasContent(each.name);
      }
      second.join();
      assertThat(again).allMatch(each -> each.isClosed);
    }
  }
}
