// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.report;

import io.torchfeed.trace.analysis.DumpException;
import io.torchfeed.trace.analysis.StepTimeline;
import io.torchfeed.trace.analysis.TraceReport;
import io.torchfeed.trace.analysis.TraceReport.Charge;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The traces of a folder: who waited for whom, which call a rank has not entered, and the timelines
 * of the slowest steps.
 */
final class TraceSection {
  private static final int STEPS = 4;
  private static final int CHARGES = 16;

  private final String name;
  private final @Nullable TraceReport report;
  private final String fault;

  /**
   * Reads the traces.
   *
   * @param name of the folder in the page; empty for the folder of the run
   */
  TraceSection(String name, Path folder) {
    this.name = name;
    @Nullable TraceReport read = null;
    String failure = "";
    try {
      read = TraceReport.of(folder);
    } catch (DumpException e) {
      failure = String.valueOf(e.getMessage());
    }
    report = read;
    fault = failure;
  }

  void addTo(Html out) {
    out.element("h2", name.isEmpty() ? "Traces" : "Traces in " + name);
    if (report == null) {
      out.element("p", "They cannot be merged: " + fault);
      return;
    }
    out.element("p", report.summary());
    charges(out, report.charges());
    for (List<String> finding : report.findings()) {
      out.element("p", String.join("; ", finding));
    }
    out.open("div", "class", "charts");
    for (StepTimeline step : report.slowestSteps(STEPS)) {
      new TimelineChart(step).addTo(out);
    }
    out.close("div");
  }

  private static void charges(Html out, List<Charge> charges) {
    if (charges.isEmpty()) {
      return;
    }
    out.open("div", "class", "wide").open("table").open("tr");
    for (String head :
        List.of("rank", "process", "others waited for it", "share", "slowest in", "longest")) {
      out.element("th", head);
    }
    out.close("tr");
    for (Charge each : charges.subList(0, Math.min(CHARGES, charges.size()))) {
      out.open("tr")
          .element("td", Integer.toString(each.rank()))
          .element("td", each.place())
          .element("td", Numbers.seconds(each.seconds()))
          .element("td", Numbers.percent(each.share()))
          .element("td", Numbers.count(each.steps()) + " steps")
          .element("td", longest(each))
          .close("tr");
    }
    out.close("table").close("div");
  }

  private static String longest(Charge charge) {
    String step = charge.longestStep() < 0 ? "" : " in step " + Numbers.count(charge.longestStep());
    return "%s before %s%s"
        .formatted(Numbers.seconds(charge.longest()), charge.longestCall(), step);
  }
}
