// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Tests that a page of more than three screens begins with links to its sections, and that files
 * which depend on the inside of libtorch are listed by names that exist.
 */
class ContentsTest {
  private static final Path ROOT = Path.of("..");
  private static final int THREE_SCREENS = 130;
  private static final Pattern BLOCK = Pattern.compile("(?ms)^```.*?^```");
  private static final Pattern SECTION = Pattern.compile("(?m)^## (.+)$");
  private static final Pattern CONTENTS = Pattern.compile("(?ms)^\\*\\*Contents\\*\\*: (.*?)\n\n");
  private static final Pattern INSIDE =
      Pattern.compile("(?ms)^## The inside of libtorch$(.*?)^## ");
  private static final Pattern FIRST_CELL = Pattern.compile("(?m)^\\| ([^|]*) \\|");
  private static final Pattern FILE = Pattern.compile("`([\\w/]+\\.\\w+)`");
  private static final Pattern LINK = Pattern.compile("\\]\\(#([^)]*)\\)");

  @Test
  void aLongPageBeginsWithItsSections() throws IOException {
    List<Path> pages;
    try (Stream<Path> files = Files.walk(ROOT)) {
      pages = files.filter(ContentsTest::isPage).toList();
    }
    assertThat(pages).contains(ROOT.resolve("README.md"), ROOT.resolve("native/README.md"));
    for (Path page : pages) {
      String text = Files.readString(page);
      List<String> anchors =
          all(SECTION, BLOCK.matcher(text).replaceAll("")).map(ContentsTest::anchor).toList();
      if (text.lines().count() > THREE_SCREENS) {
        String contents = all(CONTENTS, text).findFirst().orElse("");
        assertThat(all(LINK, contents))
            .as("%s: **Contents**: ...", page)
            .containsSubsequence(anchors);
      }
    }
  }

  @Test
  void filesThatDependOnTheInsideOfLibtorchExist() throws IOException {
    String page = Files.readString(ROOT.resolve(".github/CONTRIBUTING.md"));
    List<String> names =
        all(INSIDE, page)
            .flatMap(text -> all(FIRST_CELL, text))
            .flatMap(cell -> all(FILE, cell))
            .toList();
    assertThat(names)
        .hasSizeGreaterThan(30)
        .allSatisfy(
            name ->
                assertThat(
                        Stream.of("native/src", "java-api/src/main/java/io/torchfeed")
                            .map(folder -> ROOT.resolve(folder).resolve(name)))
                    .as(name)
                    .anyMatch(Files::isRegularFile));
  }

  /** The change log and reports that programs write have no sections to choose from. */
  private static boolean isPage(Path file) {
    String name = file.toString();
    return name.endsWith(".md") && !name.endsWith("CHANGELOG.md") && !name.contains("/target/");
  }

  private static Stream<String> all(Pattern pattern, String text) {
    return pattern.matcher(text).results().map((MatchResult found) -> found.group(1));
  }

  /** Returns the anchor that GitHub gives a heading. */
  private static String anchor(String heading) {
    return heading.toLowerCase(Locale.ROOT).replaceAll("[^\\w\\- ]", "").replace(' ', '-');
  }
}
