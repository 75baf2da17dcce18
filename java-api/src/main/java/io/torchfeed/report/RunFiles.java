// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.report;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.torchfeed.trace.analysis.TraceReport;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The files of a run below its folder that a report reads.
 *
 * @param root the folder
 * @param all all files and folders, at most four levels below it
 */
record RunFiles(Path root, List<Path> all) {
  private static final Pattern RANK = Pattern.compile("rank-(\\d{1,6})");
  private static final int DEPTH = 4;

  static RunFiles find(Path root) throws IOException {
    try (Stream<Path> found = Files.walk(root, DEPTH)) {
      return new RunFiles(root, found.sorted().toList());
    }
  }

  /** Returns the files of a name. */
  List<Path> named(String name) {
    return all.stream()
        .filter(path -> String.valueOf(path.getFileName()).equals(name))
        .filter(Files::isRegularFile)
        .toList();
  }

  /** Returns the folders that have a folder {@code generation-...}. */
  List<Path> withGenerations() {
    return all.stream()
        .filter(
            path -> String.valueOf(path.getFileName()).matches("generation-\\d{1,9}\\.\\d{1,9}"))
        .filter(Files::isDirectory)
        .map(RunFiles::folderOf)
        .distinct()
        .toList();
  }

  /** Returns the folders that have dumps of traces. */
  List<Path> withTraces() {
    return all.stream()
        .filter(path -> TraceReport.isDump(path) && Files.isRegularFile(path))
        .map(RunFiles::folderOf)
        .distinct()
        .toList();
  }

  /** Returns the tables of scalars by run, and of each run by rank. */
  Map<String, Map<Integer, Path>> scalars() {
    Map<String, Map<Integer, Path>> runs = new TreeMap<>();
    for (Path file : named("scalars.csv")) {
      Path folder = folderOf(file);
      Matcher rank = RANK.matcher(String.valueOf(folder.getFileName()));
      boolean isRank = !folder.equals(root) && rank.matches();
      Path run = isRank ? folderOf(folder) : folder;
      runs.computeIfAbsent(root.relativize(run).toString(), name -> new TreeMap<>())
          .put(isRank ? Integer.parseInt(rank.group(1)) : 0, file);
    }
    return runs;
  }

  /** Opens a text; bytes that are not UTF-8 become U+FFFD, since other programs wrote them. */
  static BufferedReader open(Path file) throws IOException {
    return new BufferedReader(new InputStreamReader(Files.newInputStream(file), UTF_8));
  }

  /** Returns the lines of a text. */
  static List<String> lines(Path file) throws IOException {
    List<String> lines = new ArrayList<>();
    try (BufferedReader reader = open(file)) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        lines.add(line);
      }
    }
    return lines;
  }

  private static Path folderOf(Path file) {
    Path parent = file.getParent();
    return parent == null ? file : parent;
  }
}
