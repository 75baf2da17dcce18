// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/** A curve over steps that a run's {@code LoopMonitor.curves} has written into its folder. */
public final class StepCurve {
  private static final String TABLE = "scalars.csv";
  private static final long POINTS = 400;

  /** A point of a curve. */
  private record Point(double step, double value) {}

  private final List<Point> points;

  private StepCurve(List<Point> points) {
    this.points = points;
  }

  /**
   * Returns the steps from one point to the next for a curve of some hundred points.
   *
   * @param steps of the run
   * @return at least 1
   */
  public static long interval(long steps) {
    return Math.max(1, steps / POINTS);
  }

  /**
   * Reads a curve of rank 0.
   *
   * @param folder of the run
   * @param tag the name of the curve, without quotation marks
   * @return the curve, without the values that are not finite; empty if the folder has none
   * @throws IOException if the table cannot be read
   */
  public static StepCurve read(Path folder, String tag) throws IOException {
    List<Point> points = new ArrayList<>();
    Path table = folder.resolve(TABLE);
    if (Files.exists(table)) {
      for (String line : Files.readAllLines(table, StandardCharsets.UTF_8)) {
        String[] cells = line.split(",", -1); // only the tags of others have commas
        if (cells.length == 4 && cells[1].equals('"' + tag + '"')) {
          Point point = new Point(Double.parseDouble(cells[0]), Double.parseDouble(cells[2]));
          if (Double.isFinite(point.value())) {
            points.add(point);
          }
        }
      }
    }
    return new StepCurve(points);
  }

  /**
   * Deletes the curves of all ranks that an earlier run has left in a folder.
   *
   * @param folder of the run; nothing happens if it is missing
   * @throws IOException if one cannot be deleted
   */
  public static void deleteAll(Path folder) throws IOException {
    if (!Files.isDirectory(folder)) {
      return;
    }
    for (Path file : list(folder)) {
      String name = String.valueOf(file.getFileName());
      if (isCurve(name)) {
        Files.delete(file);
      } else if (name.matches("rank-\\d+") && Files.isRegularFile(file.resolve(TABLE))) {
        try (Stream<Path> all = Files.walk(file)) {
          for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
            Files.delete(each);
          }
        }
      }
    }
  }

  private static boolean isCurve(String name) {
    return name.equals(TABLE)
        || name.equals("run.jsonl")
        || name.startsWith("events.out.tfevents.");
  }

  private static List<Path> list(Path folder) throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.toList();
    }
  }

  /**
   * Returns the completed steps at its points.
   *
   * @return as many as {@link #values}
   */
  public double[] steps() {
    return numbers(Point::step);
  }

  /**
   * Returns the values at its points.
   *
   * @return finite numbers
   */
  public double[] values() {
    return numbers(Point::value);
  }

  private double[] numbers(ToDoubleFunction<Point> number) {
    return points.stream().mapToDouble(number).toArray();
  }
}
