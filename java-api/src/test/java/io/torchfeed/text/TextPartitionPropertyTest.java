// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.From;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import net.jqwik.api.lifecycle.AfterProperty;
import net.jqwik.api.lifecycle.BeforeProperty;

/** Properties for files of any bytes and any number of ranks. */
class TextPartitionPropertyTest {
  /** The smallest buffer, so that lines and words cross its end. */
  private static final LineOptions SMALL =
      LineOptions.defaults()
          .withCarriageReturn(LineOptions.CarriageReturn.KEEP)
          .withBufferBytes(64)
          .withMaxLineBytes(1 << 20);

  @SuppressWarnings("NullAway.Init")
  private Path folder;

  @BeforeProperty
  void makeFolder() throws IOException {
    folder = Files.createTempDirectory("partition");
  }

  @AfterProperty
  void removeFolder() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      files.forEach(path -> path.toFile().delete());
    }
    Files.delete(folder);
  }

  @Provide
  Arbitrary<String> contents() {
    Arbitrary<Character> any = Arbitraries.chars().range('\0', '\u00ff');
    Arbitrary<Character> ends = Arbitraries.of('\n', '\n', '\r', 'a', '\u008a', '\u000b');
    return Arbitraries.oneOf(
        Arbitraries.strings().withChars('\n', '\r', 'a').ofMaxLength(40),
        any.list().ofMaxSize(300).map(TextPartitionPropertyTest::joined),
        ends.list().ofMaxSize(300).map(TextPartitionPropertyTest::joined));
  }

  private static String joined(List<Character> chars) {
    StringBuilder text = new StringBuilder();
    chars.forEach(text::append);
    return text.toString();
  }

  private List<String> files(List<String> contents) {
    List<String> paths = new ArrayList<>();
    for (String content : contents) {
      Path path = folder.resolve("file" + paths.size());
      Lines.file(path, content.getBytes(ISO_8859_1));
      paths.add(path.toString());
    }
    return paths;
  }

  private static List<String> expected(List<String> contents) {
    return contents.stream()
        .map(content -> content.startsWith("\u00ef\u00bb\u00bf") ? content.substring(3) : content)
        .flatMap(content -> Lines.expected(content).stream())
        .toList();
  }

  private static List<String> flat(List<List<String>> lines) {
    return lines.stream().flatMap(List::stream).toList();
  }

  @Property(tries = 300)
  void theUnionOfTheRanksIsTheInputInOrder(
      @ForAll @Size(max = 4) List<@From("contents") String> contents,
      @ForAll @IntRange(min = 1, max = 64) int worldSize,
      @ForAll @IntRange(min = 1, max = 32) int blocksPerRank) {
    TextPartition plan = TextPartition.plan(files(contents), worldSize, blocksPerRank);
    assertThat(flat(Lines.ofEach(plan, SMALL))).isEqualTo(expected(contents));
    assertThat(flat(Lines.ofEach(plan))).isEqualTo(expected(contents));
  }

  @Property(tries = 200)
  void ranksAreBalancedToWithinABlockAndALine(
      @ForAll @Size(max = 4) List<@From("contents") String> contents,
      @ForAll @IntRange(min = 1, max = 64) int worldSize,
      @ForAll @IntRange(min = 1, max = 32) int blocksPerRank) {
    TextPartition plan = TextPartition.plan(files(contents), worldSize, blocksPerRank);
    long longest = expected(contents).stream().mapToLong(line -> line.length() + 4).max().orElse(0);
    long block = plan.blocks().get(plan.blocks().size() - 1).length();
    long mean = plan.bytes() / worldSize;
    for (List<String> lines : Lines.ofEach(plan, SMALL)) {
      long bytes = lines.stream().mapToLong(line -> line.length() + 1).sum();
      assertThat(bytes).isLessThanOrEqualTo(mean + block + longest + contents.size() * 4L);
    }
  }

  @Property(tries = 200)
  void theRemainderIsDeliveredOnceOnAnyNumberOfRanks(
      @ForAll @Size(max = 3) List<@From("contents") String> contents,
      @ForAll @IntRange(min = 1, max = 8) int before,
      @ForAll @IntRange(min = 1, max = 8) int after,
      @ForAll @IntRange(min = 1, max = 8) int last,
      @ForAll @IntRange(min = 0, max = 30) int delivered) {
    TextPartition plan = TextPartition.plan(files(contents), before);
    List<String> seen = new ArrayList<>();
    TextPartition second = plan.resume(states(plan, delivered, seen), after);
    TextPartition third = second.resume(states(second, delivered / 2, seen), last);
    seen.addAll(flat(Lines.ofEach(third, SMALL)));
    assertThat(seen).containsExactlyInAnyOrderElementsOf(expected(contents));
  }

  private static List<TextState> states(TextPartition plan, int delivered, List<String> seen) {
    List<TextState> states = new ArrayList<>();
    for (int rank = 0; rank < plan.worldSize(); rank++) {
      try (LineCursor cursor = plan.open(rank, SMALL)) {
        for (int i = 0; i < delivered + rank && cursor.next(); i++) {
          seen.add(Lines.text(cursor));
        }
        states.add(TextState.fromJson(cursor.state().toJson()));
      }
    }
    return states;
  }

  @Property(tries = 100)
  void theSameNumberOfRanksResumesExactlyWhereItStopped(
      @ForAll @Size(max = 3) List<@From("contents") String> contents,
      @ForAll @IntRange(min = 1, max = 5) int worldSize) {
    TextPartition plan = TextPartition.plan(files(contents), worldSize);
    List<List<String>> all = Lines.ofEach(plan);
    int most = all.stream().mapToInt(List::size).max().orElse(0);
    for (int delivered = 0; delivered <= most; delivered += 1 + delivered / 4) {
      int taken = delivered;
      TextPartition resumed = plan.resume(states(plan, delivered, new ArrayList<>()), worldSize);
      for (int rank = 0; rank < worldSize; rank++) {
        List<String> lines = all.get(rank);
        assertThat(Lines.of(resumed, rank))
            .isEqualTo(lines.subList(Math.min(taken + rank, lines.size()), lines.size()));
      }
    }
  }

  @Property(tries = 200)
  void offsetAndNumberLocateTheLineInItsFile(
      @ForAll @Size(min = 1, max = 2) List<@From("contents") String> contents,
      @ForAll @IntRange(min = 1, max = 9) int worldSize) {
    TextPartition plan = TextPartition.plan(files(contents), worldSize);
    for (int rank = 0; rank < worldSize; rank++) {
      try (LineCursor cursor = plan.open(rank, SMALL)) {
        while (cursor.next()) {
          String content = read(cursor.path());
          String before = content.substring(0, (int) cursor.offset());
          assertThat(content.substring((int) cursor.offset())).contains(Lines.text(cursor));
          assertThat(cursor.lineNumber())
              .isEqualTo(1 + before.chars().filter(c -> c == '\n').count());
        }
      }
    }
  }

  private static String read(Path path) {
    try {
      return Files.readString(path, ISO_8859_1);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
