// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** The results as text tables. */
final class ResultTable {
  private static final double THOUSAND = 1e3;

  private ResultTable() {}

  /** Returns the table of one row. */
  static String of(Results results) {
    StringBuilder text = new StringBuilder();
    Row row = results.row();
    line(text, "%n%s: %s; median of the turns (lowest, highest)", row, row.title());
    line(
        text,
        "%-36s %-33s %24s %20s %22s",
        "",
        "",
        "thousand samples/s",
        "of the limit",
        "torchfeed's best is x");
    Optional<Entry> ours = results.ours();
    for (Entry entry : results.entries()) {
      Spread rate = results.rate(entry);
      line(
          text,
          "%-36s %-33s %24s %20s %22s",
          entry.contestant(),
          entry.settingText(),
          thousands(rate),
          entry.kind() == Entry.Kind.LIMIT ? "" : results.ofLimit(entry).text("%.2f"),
          ours.map(best -> results.times(best, entry).text("%.1f")).orElse(""));
    }
    results.missing().forEach((program, why) -> line(text, "left out: %s: %s", program, why));
    return text.toString();
  }

  /** Formats a rate in thousands of samples per second. */
  static String thousands(Spread rate) {
    return new Spread(rate.median() / THOUSAND, rate.lowest() / THOUSAND, rate.highest() / THOUSAND)
        .text(rate.median() < 10 * THOUSAND ? "%.2f" : "%.0f");
  }

  /** Returns the table of targets and measurements. */
  static String of(List<Bar> bars) {
    StringBuilder text = new StringBuilder();
    line(text, "%n%-88s %10s %24s", "", "wanted", "seen");
    for (Bar bar : bars) {
      String format = bar.wanted() < 100 ? "%.2f" : "%.0f";
      line(
          text,
          "%-88s %2s %7s %24s  %s",
          bar.text(),
          bar.atMost() ? "<=" : ">=",
          String.format(Locale.ROOT, format, bar.wanted()),
          bar.seen().text(format),
          bar.met() ? "yes" : "NO");
    }
    return text.toString();
  }

  private static void line(StringBuilder text, String format, Object... values) {
    text.append(String.format(Locale.ROOT, format, values).stripTrailing())
        .append(System.lineSeparator());
  }
}
