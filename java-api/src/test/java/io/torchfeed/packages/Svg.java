// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.packages;

/** A drawing in whole pixels, so that it is the same text on every machine. */
final class Svg {
  private static final String HEAD =
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <svg xmlns="http://www.w3.org/2000/svg" width="%1$d" height="%2$d" viewBox="0 0 %1$d %2$d">
      <style>
      text { font-family: Helvetica, Arial, sans-serif; text-anchor: middle; fill: #1f2328; }
      .name { font-size: 13px; font-weight: bold; }
      .contents { font-size: 11px; fill: #57606a; }
      .note { font-size: 12px; text-anchor: start; }
      .exported { fill: #ddf4ff; stroke: #0969da; }
      .hidden { fill: #f6f8fa; stroke: #57606a; stroke-dasharray: 4 3; }
      .group { fill: #ffffff; stroke: #8c959f; }
      .arrow { fill: none; stroke: #424a53; stroke-width: 1.3; marker-end: url(#head); }
      .mutual { marker-start: url(#head); }
      </style>
      <defs>
      <marker id="head" viewBox="0 0 10 10" refX="10" refY="5" markerWidth="7" markerHeight="7"
        orient="auto-start-reverse">
      <path d="M0 0 L10 5 L0 10 z" fill="#424a53"/>
      </marker>
      </defs>
      <rect width="%1$d" height="%2$d" fill="#ffffff"/>
      """;

  private final StringBuilder body = new StringBuilder();

  void rectangle(String style, double left, double top, double width, double height) {
    add(
        "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/>"
            .formatted(style, pixel(left), pixel(top), pixel(width), pixel(height)));
  }

  void text(String style, double x, double baseline, String text) {
    add(
        "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>"
            .formatted(style, pixel(x), pixel(baseline), text));
  }

  void line(String style, double x1, double y1, double x2, double y2) {
    path(style, "M%d %d L%d %d".formatted(pixel(x1), pixel(y1), pixel(x2), pixel(y2)));
  }

  /** Draws SVG path data. */
  void path(String style, String data) {
    add("<path class=\"%s\" d=\"%s\"/>".formatted(style, data));
  }

  static long pixel(double value) {
    return Math.round(value);
  }

  private void add(String element) {
    body.append(element).append('\n');
  }

  String finish(double width, double height) {
    return HEAD.formatted(pixel(width), pixel(height)) + body + "</svg>\n";
  }
}
