// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of costs read from a file. */
class CostFileTest {
  private final Path folder;

  CostFileTest(@TempDir Path folder) {
    this.folder = folder;
  }

  @Test
  void eachLineIsTheCostOfAnIndex() throws IOException {
    assertThat(Costs.read(file("3\n0\n4398046511103\n1\n")))
        .isEqualTo(Costs.of(3, 0, (1L << 42) - 1, 1));
  }

  @ParameterizedTest
  @ValueSource(strings = {"1\n2", "1\r\n2\r\n", " 1\t\n 2 \n", "01\n+2\n"})
  void spacesAndLineEndsDoNotMatter(String text) throws IOException {
    assertThat(Costs.read(file(text))).isEqualTo(Costs.of(1, 2));
  }

  @Test
  void anEmptyFileHasNoCosts() throws IOException {
    assertThat(Costs.read(file(""))).isEqualTo(Costs.of());
    assertThat(Costs.read(file(""), 2)).isEqualTo(Costs.of());
  }

  @Test
  void fractionsAreScaledAndRounded() throws IOException {
    assertThat(Costs.read(file("0.5\n1.26\n0\n2e-1\n"), 10)).isEqualTo(Costs.of(5, 13, 0, 2));
  }

  @ParameterizedTest
  @ValueSource(ints = {1023, 1024, 1025, 5000})
  void filesMayHaveAnyNumberOfLines(int lines) throws IOException {
    String text =
        LongStream.range(0, lines).mapToObj(Long::toString).collect(Collectors.joining("\n"));
    assertThat(Costs.read(file(text))).isEqualTo(Costs.computed(lines, index -> index));
  }

  @ParameterizedTest
  @CsvSource({"''", "cost", "1.5", "'1,2'", "0x10", "99999999999999999999", "é"})
  void linesThatAreNotWholeNumbersAreRefused(String line) throws IOException {
    Path file = file("1\n2\n" + line + "\n4\n");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Costs.read(file))
        .withMessageStartingWith(file + ", line 3: a line must be a whole number, got \"");
  }

  @Test
  void messagesQuoteTheStartOfALongLine() throws IOException {
    Path file = file("x".repeat(150));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Costs.read(file))
        .withMessageEndingWith("got \"" + "x".repeat(128) + "... (150 characters)\"");
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, Long.MIN_VALUE, 1L << 42, Long.MAX_VALUE})
  void costsOutOfRangeAreRefused(long cost) throws IOException {
    Path file = file("1\n" + cost);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Costs.read(file))
        .withMessage(
            "%s, line 2: a cost must be in [0, 2^42), got %d at index 1".formatted(file, cost));
  }

  @ParameterizedTest
  @CsvSource({
    "'', a line must be a number",
    "seconds, a line must be a number",
    "-0.1, a cost must be at least 0 and finite",
    "NaN, a cost must be at least 0 and finite",
    "Infinity, a cost must be at least 0 and finite",
    "1e12, a cost times the scale must be below 2^42",
  })
  void invalidFractionsAreRefused(String line, String rule) throws IOException {
    Path file = file("0.5\n" + line + "\n");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Costs.read(file, 1000))
        .withMessageStartingWith(file + ", line 2: " + rule);
  }

  @ParameterizedTest
  @ValueSource(doubles = {Double.NaN, 0, -1, Double.POSITIVE_INFINITY})
  void scalesThatAreNotPositiveAreRefused(double scale) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Costs.read(folder.resolve("none"), scale))
        .withMessage("scale must be positive and finite, got " + scale);
  }

  @Test
  void unreadableFilesAreReported() {
    Path none = folder.resolve("none");
    assertThatExceptionOfType(UncheckedIOException.class)
        .isThrownBy(() -> Costs.read(none))
        .withMessage("cannot read costs from " + none + ": no such file or directory")
        .withCauseInstanceOf(NoSuchFileException.class);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Costs.read(folder, 1))
        .withMessage(folder + " must be a regular file, got a directory");
  }

  private Path file(String text) throws IOException {
    return Files.write(folder.resolve("costs.txt"), text.getBytes(UTF_8));
  }
}
