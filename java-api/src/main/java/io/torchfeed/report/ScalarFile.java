// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.report;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.DoubleStream;
import java.util.stream.LongStream;

/**
 * The curves of a {@code scalars.csv}.
 *
 * @param curves by tag
 * @param unread how many rows are no scalars, as the last one of a process that was killed
 */
record ScalarFile(Map<String, Curve> curves, int unread) {
  private static final Pattern ROW =
      Pattern.compile("([0-9]{1,18}),\"((?:[^\"]|\"\")*+)\",([^,\"]{1,40}),([^,\"]{1,40})");
  private static final int MAX_ROW = 4096;

  /** The points of a tag. */
  private static final class Points {
    private final LongStream.Builder steps = LongStream.builder();
    private final DoubleStream.Builder values = DoubleStream.builder();

    Curve curve(String tag) {
      return Curve.of(tag, steps.build().toArray(), values.build().toArray());
    }
  }

  static ScalarFile read(Path file) throws IOException {
    Map<String, Points> points = new TreeMap<>();
    int unread = 0;
    try (BufferedReader lines = RunFiles.open(file)) {
      String line = lines.readLine(); // the names of the columns
      for (line = lines.readLine(); line != null; line = lines.readLine()) {
        unread += add(line, points) ? 0 : 1;
      }
    }
    Map<String, Curve> curves = new TreeMap<>();
    points.forEach((tag, each) -> curves.put(tag, each.curve(tag)));
    return new ScalarFile(curves, unread);
  }

  private static boolean add(String line, Map<String, Points> points) {
    Matcher row = ROW.matcher(line);
    if (line.length() > MAX_ROW || !row.matches()) {
      return false;
    }
    double value;
    try {
      value = Double.parseDouble(row.group(3));
    } catch (NumberFormatException e) {
      return false;
    }
    Points of = points.computeIfAbsent(row.group(2).replace("\"\"", "\""), tag -> new Points());
    of.steps.add(Long.parseLong(row.group(1)));
    of.values.add(value);
    return true;
  }
}
