// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.report;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;

/** A curve as a picture in SVG, with a text and a table of its values. */
final class LineChart {
  private static final double WIDTH = 380;
  private static final double HEIGHT = 200;
  private static final double LEFT = 50;
  private static final double RIGHT = 12;
  private static final double TOP = 8;
  private static final double BOTTOM = 34;
  private static final int BUCKETS = 120;
  private static final int ROWS = 12;
  private static final int DOTS = 20;

  /** The curve with a point where its value changes, which it has until the next one. */
  private static final String RANKS = "train/ranks";

  private final Curve curve;
  private final String unit;
  private final Collection<Long> changes;
  private final boolean isHeld;
  private final double low;
  private final double high;
  private final double from;
  private final double to;

  /**
   * A curve with at least one value.
   *
   * @param unit of its steps: step or epoch
   * @param changes steps at which the ranks changed
   */
  LineChart(Curve curve, String unit, Collection<Long> changes) {
    this.curve = curve;
    this.unit = unit;
    this.changes = changes;
    isHeld = curve.tag().equals(RANKS);
    double least = curve.values()[curve.lowest()];
    double most = curve.values()[curve.highest()];
    double pad = most > least ? 0.06 * (most - least) : Math.max(1e-9, 0.1 * Math.abs(most));
    low = least >= 0 && least - pad < 0.3 * most ? 0 : least - pad;
    high = most + pad > low ? most + pad : low + 1;
    from = curve.steps()[0];
    to = Math.max(from + 1, (double) curve.steps()[curve.size() - 1]);
  }

  private double x(double step) {
    return LEFT + (step - from) / (to - from) * (WIDTH - LEFT - RIGHT);
  }

  private double y(double value) {
    return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
  }

  private static String at(double place) {
    return String.format(Locale.ROOT, "%.1f", place);
  }

  private static String at(double x, double y) {
    return at(x) + "," + at(y);
  }

  /** Adds the picture, the text and the table. */
  void addTo(Html out) {
    out.open("figure").element("h3", curve.tag());
    out.open(
        "svg",
        "viewBox",
        "0 0 380 200",
        "role",
        "img",
        "aria-label",
        curve.tag() + ": " + summary());
    axes(out);
    for (long change : changes) {
      if (change >= from && change <= to) {
        String place = at(x((double) change));
        out.open(
                "line",
                "class",
                "change",
                "x1",
                place,
                "x2",
                place,
                "y1",
                at(TOP),
                "y2",
                at(HEIGHT - BOTTOM))
            .element("title", "ranks changed after " + change + " steps")
            .close("line");
      }
    }
    line(out);
    out.close("svg").element("figcaption", summary());
    table(out);
    out.close("figure");
  }

  private void axes(Html out) {
    for (double tick : Numbers.ticks(low, high)) {
      String place = at(y(tick));
      out.open(
              "line",
              "class",
              "grid",
              "x1",
              at(LEFT),
              "x2",
              at(WIDTH - RIGHT),
              "y1",
              place,
              "y2",
              place)
          .close("line");
      out.element(
          "text", curve.text(tick), "x", at(LEFT - 6), "y", at(y(tick) + 4), "text-anchor", "end");
    }
    for (double tick : Numbers.ticks(from, to)) {
      if (tick == Math.rint(tick)) {
        out.element(
            "text",
            Numbers.text(tick),
            "x",
            at(x(tick)),
            "y",
            at(HEIGHT - BOTTOM + 15),
            "text-anchor",
            "middle");
      }
    }
    out.element("text", unit, "x", at(WIDTH - RIGHT), "y", at(HEIGHT - 3), "text-anchor", "end");
  }

  /**
   * The points of some neighbours as one.
   *
   * @param place at the axis
   */
  private record Bucket(double place, double mean, double least, double most) {}

  private Bucket bucket(int begin, int end) {
    double sum = 0;
    double stepSum = 0;
    double least = Double.POSITIVE_INFINITY;
    double most = Double.NEGATIVE_INFINITY;
    for (int i = begin; i < end; i++) {
      sum += curve.values()[i];
      stepSum += curve.steps()[i];
      least = Math.min(least, curve.values()[i]);
      most = Math.max(most, curve.values()[i]);
    }
    return new Bucket(x(stepSum / (end - begin)), sum / (end - begin), least, most);
  }

  /** Adds a line of means, and a band from the least to the most if there are many points. */
  private void line(Html out) {
    List<String> means = new ArrayList<>();
    List<String> upper = new ArrayList<>();
    List<String> lower = new ArrayList<>();
    double held = 0;
    int buckets = Math.min(BUCKETS, curve.size());
    for (int i = 0; i < buckets; i++) {
      Bucket each =
          bucket(
              (int) ((long) i * curve.size() / buckets), (int) ((i + 1L) * curve.size() / buckets));
      if (isHeld && i > 0) {
        means.add(at(each.place(), held));
      }
      held = y(each.mean());
      means.add(at(each.place(), held));
      upper.add(at(each.place(), y(each.most())));
      lower.add(0, at(each.place(), y(each.least())));
      if (buckets <= DOTS) {
        out.open(
                "circle", "class", "f0", "r", "3", "cx", at(each.place()), "cy", at(y(each.mean())))
            .close("circle");
      }
    }
    if (curve.size() > buckets) {
      String points = String.join(" ", upper) + " " + String.join(" ", lower);
      out.open("polygon", "class", "band f0", "points", points).close("polygon");
    }
    out.open("polyline", "class", "line s0", "points", String.join(" ", means)).close("polyline");
  }

  private String summary() {
    int last = curve.size() - 1;
    String text = place(last);
    if (last > 0) {
      text =
          "from %s to %s; lowest %s, highest %s"
              .formatted(place(0), place(last), place(curve.lowest()), place(curve.highest()));
    }
    return curve.others() == 0
        ? text
        : text + "; %d values are not finite and not shown".formatted(curve.others());
  }

  private String place(int index) {
    return "%s at %s %s"
        .formatted(curve.text(curve.values()[index]), unit, Numbers.count(curve.steps()[index]));
  }

  private void table(Html out) {
    out.open("details").element("summary", "values").open("div", "class", "wide").open("table");
    out.open("tr").element("th", unit).element("th", "value").close("tr");
    int rows = Math.min(ROWS, curve.size());
    for (int i = 0; i < rows; i++) {
      int index = rows == 1 ? 0 : (int) ((long) i * (curve.size() - 1) / (rows - 1));
      out.open("tr")
          .element("td", Numbers.count(curve.steps()[index]))
          .element("td", curve.text(curve.values()[index]))
          .close("tr");
    }
    out.close("table").close("div").close("details");
  }
}
