// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.torchfeed.storage.ByteSource;
import io.torchfeed.storage.ByteSourceException;
import io.torchfeed.storage.MemorySource;
import io.torchfeed.text.TextFileException.Problem;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.stream.IntStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of lines that lie in other storage than files. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class TextOfSourcesTest {
  private static final int BUFFER_BYTES = 512;

  private static final LineOptions SMALL = LineOptions.defaults().withBufferBytes(BUFFER_BYTES);

  private final Path folder;

  TextOfSourcesTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private static String content(int lines) {
    StringBuilder content = new StringBuilder();
    for (int i = 0; i < lines; i++) {
      content.append("line ").append(i).append("x".repeat(i % 13)).append('\n');
    }
    return content.toString();
  }

  private static MemorySource copyOf(Path file) throws IOException {
    return new MemorySource(file.toString(), Files.readAllBytes(file));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, Integer.MAX_VALUE})
  void linesOfSourcesAreTheLinesOfFiles(int most) throws IOException {
    List<Path> files =
        List.of(
            Lines.file(folder, "a.txt", content(700)),
            Lines.gzip(folder, "b.gz", content(300)),
            Lines.file(folder, "c.txt", ""),
            Lines.file(folder, "d.txt", "without a newline"));
    List<ByteSource> sources = new ArrayList<>();
    for (Path file : files) {
      MemorySource source = copyOf(file);
      source.most = most;
      sources.add(source);
    }
    TextPartition ofFiles = TextPartition.plan(files.stream().map(Path::toString).toList(), 3);
    TextPartition ofSources = TextPartition.of(sources, 3);
    assertThat(ofSources.digest()).isEqualTo(ofFiles.digest());
    assertThat(Lines.ofEach(ofSources, SMALL)).isEqualTo(Lines.ofEach(ofFiles, SMALL));
    List<TextState> states = new ArrayList<>();
    List<String> expected = new ArrayList<>();
    for (int rank = 0; rank < 3; rank++) {
      try (LineCursor cursor = ofFiles.open(rank, SMALL)) {
        IntStream.range(0, 50).forEach(i -> assertThat(cursor.next()).isTrue());
        states.add(cursor.state());
        expected.addAll(Lines.rest(cursor));
      }
    }
    assertThat(Lines.ofAll(ofSources.resume(states, 2))).isEqualTo(expected);
  }

  @Test
  void planningReadsNothingAndReadingNothingTwice() {
    MemorySource source = MemorySource.of("store/a.txt", content(2000));
    TextPartition plan = TextPartition.of(List.of(source), 1);
    LineCursor cursor = plan.open(0, SMALL);
    assertThat(source.reads).hasValue(0);
    assertThat(cursor.next()).isTrue();
    assertThat(cursor.path()).isEqualTo(Path.of("store/a.txt"));
    assertThat(source.reads).hasValue(1);
    assertThat(Lines.rest(cursor)).hasSize(1999);
    assertThat(source.bytesRead).hasValue(source.size());
    cursor.close(); // and not the source, which would fail
  }

  @Test
  void aFailureInTheMiddleNamesSourceAndOffset() {
    MemorySource source = MemorySource.of("store/a.txt", content(2000));
    source.failsAt = 10_000;
    TextPartition plan = TextPartition.of(List.of(source), 1);
    List<String> before = new ArrayList<>();
    try (LineCursor cursor = plan.open(0, SMALL)) {
      assertThatExceptionOfType(TextFileException.class)
          .isThrownBy(
              () -> {
                while (cursor.next()) {
                  before.add(Lines.text(cursor));
                }
              })
          .withMessageStartingWith("store/a.txt cannot be read after ")
          .withMessageEndingWith(": no route to the store")
          .satisfies(e -> assertThat(e.problem()).isEqualTo(Problem.UNREADABLE))
          .satisfies(e -> assertThat(e.path()).isEqualTo(Path.of("store/a.txt")))
          .withCauseInstanceOf(ByteSourceException.class)
          .havingCause()
          .satisfies(
              e ->
                  assertThat(((ByteSourceException) e).offset())
                      .isBetween(10_000L - BUFFER_BYTES, 10_000L));
      assertThat(before)
          .isNotEmpty()
          .isEqualTo(content(2000).lines().limit(before.size()).toList());
    }
  }

  /** A thread waits in one source while another reads on. */
  @Test
  void aSlowSourceHoldsUpItsReaderOnly() throws Exception {
    MemorySource slow = MemorySource.of("slow.txt", content(10));
    MemorySource fast = MemorySource.of("fast.txt", content(10));
    slow.mayReturn = new CountDownLatch(1);
    TextPartition plan = TextPartition.of(List.of(slow, fast), 2);
    FutureTask<List<String>> waiting = new FutureTask<>(() -> Lines.of(plan, 0));
    new Thread(waiting).start();
    slow.isReading.await();
    assertThat(Lines.of(plan, 1)).isEqualTo(content(10).lines().toList());
    assertThat(waiting).isNotDone();
    slow.mayReturn.countDown();
    assertThat(waiting.get()).isEqualTo(content(10).lines().toList());
  }

  /** The first member fills the buffer of the packed bytes, so that nothing follows it there. */
  @Test
  void aPackedMemberAfterAFullBufferIsRead() throws IOException {
    byte[] first = new byte[0];
    byte[] packed = new byte[0];
    for (int seed = 0; packed.length != 1 << 16; seed++) {
      assertThat(seed).isLessThan(1000);
      first = new byte[(1 << 16) - 20 - seed % 60];
      new Random(seed).nextBytes(first);
      first[first.length - 1] = '\n';
      packed = packed(first);
    }
    byte[] second = packed("second".getBytes(StandardCharsets.US_ASCII));
    byte[] both = Arrays.copyOf(packed, packed.length + second.length);
    System.arraycopy(second, 0, both, packed.length, second.length);
    TextPartition plan = TextPartition.of(List.of(new MemorySource("a.gz", both)), 1);
    List<String> lines = Lines.ofAll(plan);
    assertThat(lines.get(lines.size() - 1)).isEqualTo("second");
    Path file = Lines.file(folder.resolve("a.gz"), both);
    assertThat(Lines.ofAll(TextPartition.plan(Lines.names(file), 1))).isEqualTo(lines);
  }

  private static byte[] packed(byte[] content) throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
      out.write(content);
    }
    return packed.toByteArray();
  }

  @Test
  void aSourceThatCannotBeMeasuredIsNamed() {
    MemorySource source = MemorySource.of("a.txt", content(10));
    source.size = -1;
    assertThatExceptionOfType(TextFileException.class)
        .isThrownBy(() -> TextPartition.of(List.of(source), 1))
        .withMessage("a.txt cannot be read: its size must be at least 0, got -1");
    source.broken = new IllegalStateException("no route to the store");
    assertThatExceptionOfType(TextFileException.class)
        .isThrownBy(() -> TextPartition.of(List.of(source), 1))
        .withMessage("a.txt cannot be read: no route to the store");
    source.broken = null;
    source.size = 20;
    TextPartition plan = TextPartition.of(List.of(source), 1);
    source.broken = new IllegalStateException("no route to the store");
    Lines.assertProblem(plan, Path.of("a.txt"), Problem.UNREADABLE);
  }

  @Test
  void aMissingSourceIsNamed() {
    MemorySource source = MemorySource.of("a.txt", content(10));
    assertThatNullPointerException()
        .isThrownBy(() -> TextPartition.of(Arrays.asList(source, null), 1))
        .withMessage("sources[1] must not be null");
  }

  @Test
  void anotherSizeIsRefused() {
    MemorySource source = MemorySource.of("a.txt", content(10));
    TextPartition plan = TextPartition.of(List.of(source), 1);
    long size = source.size();
    source.size = size - 1;
    Lines.assertProblem(plan, Path.of("a.txt"), Problem.SHRUNK);
    source.size = size + 1;
    Lines.assertProblem(plan, Path.of("a.txt"), Problem.GROWN);
    Lines.assertProblem(TextPartition.of(List.of(source), 1), Path.of("a.txt"), Problem.UNREADABLE);
  }

  @Test
  void aNameThatIsNoPathIsRefused() {
    List<ByteSource> sources = List.of(MemorySource.of("a\0b", ""));
    assertThatIllegalArgumentException().isThrownBy(() -> TextPartition.of(sources, 1));
    assertThatIllegalArgumentException().isThrownBy(() -> TextPartition.of(List.of(), 0));
    assertThat(Lines.ofAll(TextPartition.of(List.of(), 1))).isEmpty();
  }
}
