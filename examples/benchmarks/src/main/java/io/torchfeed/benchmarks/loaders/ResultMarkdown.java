// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The results as Markdown tables: the best form of each loader for the project's README, all
 * settings for the README of the benchmarks.
 */
final class ResultMarkdown {
  private static final double THOUSAND = 1e3;

  private final StringBuilder text = new StringBuilder();

  private ResultMarkdown() {}

  /**
   * A loader and the contestants that are forms of it.
   *
   * @param name the heading of its column
   * @param perSample its contestants that load sample by sample
   * @param wholeBatch its contestants that load a batch by one gather
   */
  private record Loader(String name, List<String> perSample, List<String> wholeBatch) {}

  private static final List<Loader> LOADERS =
      List.of(
          new Loader("torchfeed", List.of(Entry.JAVA), List.of(Entry.NATIVE)),
          new Loader("C++ loop, reused buffer", List.of(), List.of(Entry.COPY, Entry.CONVERSION)),
          new Loader(
              "libtorch's C++ loader", List.of(Entry.LIBTORCH_SAMPLE), List.of(Entry.LIBTORCH)),
          new Loader("presets' loader", List.of(Entry.PRESETS), List.of(Entry.PRESETS_BATCH)),
          new Loader(
              "DJL", List.of(Entry.DJL_SAMPLE), List.of(Entry.DJL_BATCH, Entry.DJL_EMBEDDING)),
          new Loader(
              "Python's DataLoader",
              List.of(Entry.PYTHON),
              List.of(Entry.PYTHON_ITEMS, Entry.PYTHON_BATCH, Entry.PYTHON_TENSORS)));

  /** Writes the tables of the measured rows. */
  static void write(List<Results> all, Path file) throws IOException {
    Files.writeString(file, of(all), StandardCharsets.UTF_8);
  }

  static String of(List<Results> all) {
    ResultMarkdown tables = new ResultMarkdown();
    List<Results> measured = all.stream().filter(each -> !each.entries().isEmpty()).toList();
    List<Results> inMemory = measured.stream().filter(each -> each.row() != Row.D).toList();
    if (!inMemory.isEmpty()) {
      tables.best(inMemory);
    }
    measured.forEach(tables::settings);
    return tables.text.toString();
  }

  /** Adds the best form of each loader, medians in thousands of samples per second. */
  private void best(List<Results> all) {
    List<String> heading = new ArrayList<>(List.of(""));
    LOADERS.forEach(each -> heading.add(each.name()));
    heading(heading);
    for (Results results : all) {
      List<String> cells = new ArrayList<>(List.of(results.row().title()));
      LOADERS.forEach(each -> cells.add(best(results, each)));
      line(cells);
    }
    text.append('\n');
  }

  private static String best(Results results, Loader loader) {
    Optional<String> whole = best(results, loader.wholeBatch());
    if (results.row() != Row.C) {
      Stream<String> both =
          Stream.concat(loader.wholeBatch().stream(), loader.perSample().stream());
      return best(results, both.toList()).orElse("");
    }
    // Row C is about code per sample; the rate in whole batches is shown next to it.
    Optional<String> single = best(results, loader.perSample());
    return single
        .map(rate -> rate + whole.map(" (%s in whole batches)"::formatted).orElse(""))
        .or(() -> whole)
        .orElse("");
  }

  private static Optional<String> best(Results results, List<String> contestants) {
    return contestants.stream()
        .flatMap(each -> results.best(each).stream())
        .map(each -> results.rate(each).median())
        .max(Comparator.naturalOrder())
        .map(
            rate ->
                String.format(
                    Locale.ROOT, rate < 10 * THOUSAND ? "%.2f" : "%.0f", rate / THOUSAND));
  }

  /** Adds all contestants of a row in all settings, with the lowest and highest turn. */
  private void settings(Results results) {
    List<Setting> settings =
        Stream.of(Setting.values())
            .filter(each -> results.entries().stream().anyMatch(entry -> entry.setting() == each))
            .toList();
    List<String> heading = new ArrayList<>(List.of(results.row().name()));
    settings.forEach(each -> heading.add(each.title()));
    heading(heading);
    for (String name : results.entries().stream().map(Entry::contestant).distinct().toList()) {
      List<Optional<Entry>> entries =
          settings.stream().map(setting -> results.find(name, setting)).toList();
      line(cells(name, entries, entry -> ResultTable.thousands(results.rate(entry))));
      if (entries.stream().flatMap(Optional::stream).anyMatch(ResultMarkdown::isOurs)) {
        line(
            cells(
                "the same, relative to the limit of its turn",
                entries,
                entry -> results.ofLimit(entry).text("%.2f")));
      }
    }
    text.append('\n');
  }

  private static boolean isOurs(Entry entry) {
    return entry.kind() == Entry.Kind.OURS;
  }

  private static List<String> cells(
      String name, List<Optional<Entry>> entries, Function<Entry, String> cell) {
    List<String> cells = new ArrayList<>(List.of(name));
    entries.forEach(entry -> cells.add(entry.map(cell).orElse("")));
    return cells;
  }

  private void heading(List<String> cells) {
    line(cells);
    line(Collections.nCopies(cells.size(), "---"));
  }

  private void line(List<String> cells) {
    text.append('|');
    for (String cell : cells) {
      text.append(cell.isEmpty() ? " |" : cell.equals("---") ? "---|" : " " + cell + " |");
    }
    text.append('\n');
  }
}
