// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static java.util.Objects.requireNonNull;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.mapping;
import static java.util.stream.Collectors.toSet;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The classes of torchfeed that source files use: for modules that are compiled after the tests of
 * this one. {@link ArchitectureTest} sees to it that imports are used, and uses imported.
 */
final class SourceUses {
  private static final Pattern IMPORT =
      Pattern.compile("^import (?:static )?(io\\.torchfeed[a-z.]*\\.[A-Z]\\w*)", Pattern.MULTILINE);
  private static final Pattern NAME = Pattern.compile("\\b[A-Z]\\w*");

  private SourceUses() {}

  /** Returns the names of classes in the files below folders, each with the names that it uses. */
  static Map<String, Set<String>> of(List<Path> roots) throws IOException {
    Map<String, Set<String>> uses = new TreeMap<>();
    for (Path root : roots) {
      uses.putAll(of(root));
    }
    return uses;
  }

  private static Map<String, Set<String>> of(Path root) throws IOException {
    Map<String, Set<String>> uses = new TreeMap<>();
    try (Stream<Path> files = Files.walk(root)) {
      for (Path file :
          files
              .filter(each -> each.getFileName().toString().matches("[A-Z]\\w*\\.java"))
              .toList()) {
        String source = Files.readString(file);
        Set<String> used = new HashSet<>();
        IMPORT.matcher(source).results().map(found -> found.group(1)).forEach(used::add);
        String folder = name(root.relativize(requireNonNull(file.getParent())));
        NAME.matcher(ArchitectureTest.withoutComments(source))
            .results()
            .map(MatchResult::group)
            .filter(name -> Files.exists(file.resolveSibling(name + ".java")))
            .forEach(name -> used.add(folder + "." + name));
        uses.put(folder + "." + file.getFileName().toString().replace(".java", ""), used);
      }
    }
    return uses;
  }

  private static String name(Path folder) {
    return folder.toString().replace('/', '.');
  }

  /** Returns the packages that each package uses, without {@code io.torchfeed} and itself. */
  static Map<String, Set<String>> ofPackages(Map<String, Set<String>> files) {
    Map<String, Set<String>> packages =
        files.entrySet().stream()
            .flatMap(file -> file.getValue().stream().map(to -> Map.entry(file.getKey(), to)))
            .collect(
                groupingBy(
                    arrow -> packageOf(arrow.getKey()),
                    mapping(arrow -> packageOf(arrow.getValue()), toSet())));
    packages.forEach((from, to) -> to.remove(from));
    return packages;
  }

  static String packageOf(String type) {
    String name = type.substring(0, type.lastIndexOf('.'));
    return name.equals("io.torchfeed") ? "" : name.substring("io.torchfeed.".length());
  }
}
