// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static java.util.stream.Collectors.joining;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The list of imports in FROM_PYTORCH.md, which has the imports of the classes that run it. */
class GuideImportsTest {
  private static final Pattern JAVA_BLOCK = Pattern.compile("(?s)```java\n(.*?)```");
  private static final Pattern LIST = Pattern.compile("(?s)<!-- imports -->\n```\n(.*?)```");
  private static final Pattern IMPORT =
      Pattern.compile("(?m)^import (?:static )?(?:io\\.torchfeed|org\\.bytedeco)\\S*?(\\w+);$");

  @Test
  void theGuideListsTheImportsOfItsBlocks() throws IOException {
    String guide = Files.readString(Path.of("FROM_PYTORCH.md"));
    String blocks =
        JAVA_BLOCK.matcher(guide).results().map(block -> block.group(1)).collect(joining());
    List<String> imports = new ArrayList<>();
    for (String program :
        List.of(
            "GuideTest",
            "GuideCompiledTest",
            "GuideTableTest",
            "GuideTokensTest",
            "GuideTrain",
            "GuideMixed")) {
      Path file = Path.of("src", "test", "java", "io", "torchfeed", program + ".java");
      IMPORT
          .matcher(Files.readString(file))
          .results()
          .filter(line -> Pattern.compile("\\b" + line.group(1) + "\\b").matcher(blocks).find())
          .forEach(line -> imports.add(line.group()));
    }
    Matcher list = LIST.matcher(guide);
    assertThat(list.find()).isTrue();
    assertThat(list.group(1).lines()).isSubsetOf(imports).containsAll(imports);
  }
}
