// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** The picture of the packages in the contributing notes, as Mermaid text, which GitHub draws. */
class PackagePictureTest {
  private static final Path NOTES = Path.of("..", ".github", "CONTRIBUTING.md");
  private static final String BEGIN = "```mermaid\n";
  private static final String END = "```\n";

  /** The imports of each package, which ArchitectureTest compares with the compiled classes. */
  private final Map<String, Set<String>> imports = new TreeMap<>(Arrows.ALL);

  @Test
  void theContributingNotesShowThePackagesAndImportsOfToday() throws IOException {
    String notes = Files.readString(NOTES);
    int from = notes.indexOf(BEGIN);
    assertThat(from).as("a Mermaid picture in %s", NOTES).isNotNegative();
    int to = notes.indexOf(END, from + BEGIN.length());
    String drawn = notes.substring(0, from) + BEGIN + picture() + notes.substring(to);
    if (!drawn.equals(notes)) {
      Files.writeString(NOTES, drawn);
    }
    assertThat(drawn.equals(notes))
        .as("the picture in %s was out of date; it is drawn again now: commit it", NOTES)
        .isTrue();
  }

  private String picture() {
    StringBuilder picture = new StringBuilder("flowchart TD\n");
    picture.append("  classDef hidden stroke-dasharray: 5 4\n");
    for (String name : imports.keySet()) {
      String label = name.isEmpty() ? "io.torchfeed" : name;
      boolean hidden = Arrows.HIDDEN.contains(name);
      picture.append("  %s[%s]%s\n".formatted(id(name), label, hidden ? ":::hidden" : ""));
    }
    for (String from : imports.keySet()) {
      for (String to : imports(from)) {
        boolean mutual = imports(to).contains(from);
        if (mutual && from.compareTo(to) < 0) {
          picture.append("  %s <--> %s\n".formatted(id(from), id(to)));
        } else if (!mutual && !isImplied(from, to)) {
          picture.append("  %s --> %s\n".formatted(id(from), id(to)));
        }
      }
    }
    return picture.toString();
  }

  /** Mermaid reserves some words, such as "graph", unless they are part of a longer one. */
  private static String id(String name) {
    return "p_" + name.replace('.', '_');
  }

  /** Returns whether another import of {@code from} leads to {@code to}, but not back. */
  private boolean isImplied(String from, String to) {
    return imports(from).stream()
        .filter(through -> !through.equals(to))
        .map(this::reached)
        .anyMatch(reached -> reached.contains(to) && !reached.contains(from));
  }

  private Set<String> reached(String start) {
    Set<String> found = new TreeSet<>();
    Deque<String> open = new ArrayDeque<>(List.of(start));
    while (!open.isEmpty()) {
      for (String next : imports(open.pop())) {
        if (found.add(next)) {
          open.push(next);
        }
      }
    }
    return found;
  }

  private Set<String> imports(String name) {
    return new TreeSet<>(imports.getOrDefault(name, Set.of()));
  }
}
