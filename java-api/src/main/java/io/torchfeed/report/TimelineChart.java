// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.report;

import io.torchfeed.trace.analysis.StepTimeline;
import io.torchfeed.trace.analysis.StepTimeline.Row;
import io.torchfeed.trace.analysis.StepTimeline.Span;
import io.torchfeed.trace.analysis.StepTimeline.Work;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** The work of each rank in a step, as a picture in SVG with a text and a table. */
final class TimelineChart {
  private static final double WIDTH = 380;
  private static final double LEFT = 52;
  private static final double RIGHT = 10;
  private static final double ROW = 22;
  private static final double AXIS = 30;
  private static final int MAX_ROWS = 16;

  private final StepTimeline step;
  private final List<Row> rows;

  TimelineChart(StepTimeline step) {
    this.step = step;
    rows = step.rows().subList(0, Math.min(MAX_ROWS, step.rows().size()));
  }

  private static String at(double place) {
    return String.format(Locale.ROOT, "%.1f", place);
  }

  private double x(double nanos) {
    return LEFT + nanos / Math.max(1, step.nanos()) * (WIDTH - LEFT - RIGHT);
  }

  private static String seconds(long nanos) {
    return Numbers.seconds(nanos / 1e9);
  }

  /** Returns the class of a kind of work: the waits have the colours of the other pictures. */
  private static String color(Work work) {
    return switch (work) {
      case FORWARD -> "f0";
      case DATA -> "f1";
      case RANKS -> "f2";
      case BACKWARD -> "f3";
      case UPDATE -> "f4";
    };
  }

  void addTo(Html out) {
    String title = "Step %s: %s".formatted(Numbers.count(step.step()), seconds(step.nanos()));
    out.open("figure").element("h3", title);
    key(out);
    String box = "0 0 380 " + (int) (ROW * rows.size() + AXIS);
    out.open("svg", "viewBox", box, "role", "img", "aria-label", title + ". " + summary());
    double bottom = ROW * rows.size();
    for (double tick : Numbers.ticks(0, step.nanos() / 1e9)) {
      String place = at(x(tick * 1e9));
      out.open("line", "class", "grid", "x1", place, "x2", place, "y1", "0", "y2", at(bottom))
          .close("line");
      out.element(
          "text", Numbers.seconds(tick), "x", place, "y", at(bottom + 15), "text-anchor", "middle");
    }
    for (int i = 0; i < rows.size(); i++) {
      row(out, rows.get(i), i * ROW);
    }
    out.close("svg").element("figcaption", summary());
    table(out);
    out.close("figure");
  }

  private static void key(Html out) {
    out.open("ul", "class", "key");
    for (Work work : Work.values()) {
      out.open("li")
          .open("svg", "viewBox", "0 0 10 10", "aria-hidden", "true")
          .open("rect", "class", color(work), "width", "10", "height", "10", "rx", "2")
          .close("rect")
          .close("svg")
          .text(work.label())
          .close("li");
    }
    out.close("ul");
  }

  private void row(Html out, Row row, double top) {
    out.element(
        "text", "rank " + row.rank(), "x", at(LEFT - 6), "y", at(top + 15), "text-anchor", "end");
    for (Span span : row.spans()) {
      double width = Math.max(0.4, x((double) span.end()) - x((double) span.start()));
      out.open(
              "rect",
              "class",
              color(span.work()),
              "x",
              at(x((double) span.start())),
              "y",
              at(top + 4),
              "width",
              at(width),
              "height",
              "15")
          .close("rect");
    }
  }

  /** Returns who waited, and which rank did least: the others waited for it. */
  private String summary() {
    Comparator<Row> byWait = Comparator.comparingLong(row -> row.nanos(Work.RANKS));
    long longest = step.rows().stream().max(byWait).map(row -> row.nanos(Work.RANKS)).orElse(0L);
    String more =
        step.rows().size() > rows.size()
            ? "; %d more ranks are not shown".formatted(step.rows().size() - rows.size())
            : "";
    if (longest == 0) {
      return "No wait for another rank is known; a rank without a dump has none" + more;
    }
    Row last = step.rows().stream().min(byWait).orElseThrow();
    return "Ranks waited for others up to %s; rank %d waited least, %s%s"
        .formatted(seconds(longest), last.rank(), seconds(last.nanos(Work.RANKS)), more);
  }

  private void table(Html out) {
    out.open("details").element("summary", "values").open("div", "class", "wide").open("table");
    out.open("tr").element("th", "rank").element("th", "process");
    for (Work work : Work.values()) {
      out.element("th", work.label());
    }
    out.close("tr");
    for (Row row : rows) {
      out.open("tr").element("td", Integer.toString(row.rank())).element("td", row.place());
      for (Work work : Work.values()) {
        out.element("td", seconds(row.nanos(work)));
      }
      out.close("tr");
    }
    out.close("table").close("div").close("details");
  }
}
