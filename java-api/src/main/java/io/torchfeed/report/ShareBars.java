// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.report;

import java.util.List;
import java.util.Locale;

/** Bars of parts of a time, one below the other, in SVG. */
final class ShareBars {
  private static final double WIDTH = 380;
  private static final double LABEL = 110;
  private static final double VALUE = 64;
  private static final double ROW = 24;
  private static final List<String> PARTS =
      List.of("computing and all else", "waiting for data", "waiting for other ranks");

  /**
   * A bar.
   *
   * @param label before it
   * @param value behind it
   * @param length the longest is 1
   * @param dataShare the part of it without a batch
   * @param ranksShare the part of it in which other ranks were waited for
   */
  record Bar(String label, String value, double length, double dataShare, double ranksShare) {}

  private ShareBars() {}

  static void addTo(Html out, String title, List<Bar> bars) {
    out.open("figure").element("h3", title).open("ul", "class", "key");
    for (int i = 0; i < PARTS.size(); i++) {
      out.open("li")
          .open("svg", "viewBox", "0 0 10 10", "aria-hidden", "true")
          .open("rect", "class", "f" + i, "width", "10", "height", "10", "rx", "2")
          .close("rect")
          .close("svg")
          .text(PARTS.get(i))
          .close("li");
    }
    out.close("ul");
    String box = "0 0 380 " + (int) (ROW * bars.size());
    out.open(
        "svg",
        "class",
        "bars",
        "viewBox",
        box,
        "role",
        "img",
        "aria-label",
        title + ": see the table below");
    for (int i = 0; i < bars.size(); i++) {
      bar(out, bars.get(i), i * ROW);
    }
    out.close("svg");
    table(out, bars);
    out.close("figure");
  }

  private static void bar(Html out, Bar bar, double top) {
    double all = (WIDTH - LABEL - VALUE) * bar.length();
    double data = all * bar.dataShare();
    double ranks = Math.min(all - data, all * bar.ranksShare());
    out.element("text", bar.label(), "x", at(LABEL - 8), "y", at(top + 15), "text-anchor", "end");
    double x = LABEL;
    double[] parts = {all - data - ranks, data, ranks};
    for (int i = 0; i < parts.length; i++) {
      if (parts[i] > 0) {
        String width = at(Math.max(0.5, parts[i] - 1)); // a gap between parts
        out.open(
                "rect",
                "class",
                "f" + i,
                "x",
                at(x),
                "y",
                at(top + 4),
                "width",
                width,
                "height",
                "15")
            .close("rect");
        x += parts[i];
      }
    }
    out.element("text", bar.value(), "x", at(LABEL + all + 6), "y", at(top + 15));
  }

  private static void table(Html out, List<Bar> bars) {
    out.open("details").element("summary", "values").open("div", "class", "wide").open("table");
    out.open("tr").element("th", "").element("th", "time");
    out.element("th", PARTS.get(1)).element("th", PARTS.get(2)).close("tr");
    for (Bar bar : bars) {
      out.open("tr")
          .element("td", bar.label())
          .element("td", bar.value())
          .element("td", Numbers.percent(bar.dataShare()))
          .element("td", Numbers.percent(bar.ranksShare()))
          .close("tr");
    }
    out.close("table").close("div").close("details");
  }

  private static String at(double place) {
    return String.format(Locale.ROOT, "%.1f", place);
  }
}
