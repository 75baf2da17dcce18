// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Tests that DISTRIBUTED.md names a test in each row, and that all of them exist. */
class DistributedTableTest {
  private static final Pattern ROW = Pattern.compile("(?m)^\\|[^|]*\\|[^|]*\\|([^|]*)\\|$");
  private static final Pattern NAME = Pattern.compile("`(\\w+)\\.(\\w+)`");
  private static final Pattern JAVA_TEST = Pattern.compile("(?m)^ +void (\\w+)\\(");
  private static final Pattern CPP_TEST =
      Pattern.compile("(?m)^TEST(?:_[FP])?\\((\\w+), (\\w+)\\)");

  @Test
  void everyRowNamesTestsThatExist() throws IOException {
    Set<String> tests = new HashSet<>();
    for (Path file : files(Path.of("src", "test", "java"), ".java")) {
      String type = file.getFileName().toString().replace(".java", "");
      all(JAVA_TEST, file).forEach(found -> tests.add(type + "." + found.group(1)));
    }
    for (Path file : files(Path.of("..", "native", "test"), ".cc")) {
      all(CPP_TEST, file).forEach(found -> tests.add(found.group(1) + "." + found.group(2)));
    }
    List<String> cells =
        all(ROW, Path.of("DISTRIBUTED.md")).stream()
            .map(row -> row.group(1).strip())
            .filter(cell -> !cell.equals("test") && !cell.equals("---"))
            .toList();
    assertThat(cells).hasSizeGreaterThan(30);
    for (String cell : cells) {
      List<String> names =
          NAME.matcher(cell).results().map(name -> name.group(1) + "." + name.group(2)).toList();
      assertThat(names).as(cell).isNotEmpty().isSubsetOf(tests);
    }
  }

  private static List<Path> files(Path folder, String ending) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files.filter(file -> file.toString().endsWith(ending)).toList();
    }
  }

  private static List<MatchResult> all(Pattern pattern, Path file) {
    try {
      Matcher matcher = pattern.matcher(Files.readString(file));
      return matcher.results().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
