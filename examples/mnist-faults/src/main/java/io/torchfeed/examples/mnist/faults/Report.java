// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.DoubleStream;

/** The result of a campaign as a table in Markdown, and sentences. */
final class Report {
  private Report() {}

  static String of(Campaign.Totals totals, double bar) {
    StringBuilder text = new StringBuilder();
    text.append(
        """
        | fault | times | ms to the next step, median | worst | ms of re-forming, median | worst |
        |---|---|---|---|---|---|
        """);
    for (Fault fault : Fault.values()) {
      List<Campaign.Done> all =
          totals.faults.stream().filter(each -> each.fault() == fault).toList();
      if (!all.isEmpty()) {
        text.append("| ").append(fault.text).append(" | ").append(all.size());
        text.append(millis(all.stream().mapToDouble(Campaign.Done::millis)));
        text.append(millis(all.stream().mapToDouble(Campaign.Done::reformingMillis)));
        text.append(" |\n");
      }
    }
    text.append('\n');
    line(
        text,
        "%d faults in %d jobs of %d processes; %d more missed their moment and do not count",
        totals.faults.size(),
        totals.jobs,
        totals.processes,
        totals.missed);
    if (totals.broken.isEmpty()) {
      line(
          text,
          "all %d samples of %d epochs once, and %d as padding; %d steps repeated from checkpoints",
          totals.samples,
          totals.epochs,
          totals.padding,
          totals.undone);
      line(
          text,
          "%d generations, all states equal: %d digests of ranks, %d steps of the plain loop",
          totals.generations,
          totals.compared,
          totals.replayed);
      double least = totals.accuracies.stream().min(Comparator.naturalOrder()).orElse(Double.NaN);
      line(text, "accuracy %.4f, at least %.4f", least, bar);
      if (totals.undisturbed.isPresent()) {
        line(text, "accuracy %.4f in one process without faults", totals.undisturbed.getAsDouble());
      }
      line(text, "no process and no port left");
    } else {
      totals.broken.forEach(each -> line(text, "NOT HELD: %s", each));
    }
    return text.toString();
  }

  private static void line(StringBuilder text, String format, Object... values) {
    text.append(String.format(Locale.ROOT, format, values)).append('\n');
  }

  /** Returns two cells, median and worst. */
  private static String millis(DoubleStream all) {
    double[] sorted = all.filter(each -> !Double.isNaN(each)).sorted().toArray();
    if (sorted.length == 0) {
      return " | |";
    }
    return String.format(
        Locale.ROOT, " | %.0f | %.0f", sorted[sorted.length / 2], sorted[sorted.length - 1]);
  }
}
