// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.report;

import java.util.Arrays;
import java.util.stream.IntStream;

/** The finite values of a tag over steps. */
final class Curve {
  private final String tag;
  private final long[] steps;
  private final double[] values;
  private final int others;

  private Curve(String tag, long[] steps, double[] values, int others) {
    this.tag = tag;
    this.steps = steps;
    this.values = values;
    this.others = others;
  }

  String tag() {
    return tag;
  }

  /** Returns the steps in ascending order; not to be changed. */
  long[] steps() {
    return steps;
  }

  /** Returns a value for each step; not to be changed. */
  double[] values() {
    return values;
  }

  /** Returns how many values were infinite or not a number. */
  int others() {
    return others;
  }

  /** Returns a curve of points in any order; of one step, the last counts. */
  static Curve of(String tag, long[] steps, double[] values) {
    Integer[] order =
        IntStream.range(0, steps.length)
            .boxed()
            .sorted((a, b) -> Long.compare(steps[a], steps[b]))
            .toArray(Integer[]::new);
    long[] sorted = new long[steps.length];
    double[] kept = new double[steps.length];
    int count = 0;
    int others = 0;
    for (int i : order) {
      if (!Double.isFinite(values[i])) {
        others++;
      } else if (count > 0 && sorted[count - 1] == steps[i]) {
        kept[count - 1] = values[i];
      } else {
        sorted[count] = steps[i];
        kept[count++] = values[i];
      }
    }
    return new Curve(tag, Arrays.copyOf(sorted, count), Arrays.copyOf(kept, count), others);
  }

  int size() {
    return steps.length;
  }

  double mean() {
    return Arrays.stream(values).average().orElse(Double.NaN);
  }

  double last() {
    return values[values.length - 1];
  }

  /** Returns the place of the smallest value. */
  int lowest() {
    return IntStream.range(0, size()).reduce((a, b) -> values[b] < values[a] ? b : a).orElse(0);
  }

  /** Returns the place of the largest value. */
  int highest() {
    return IntStream.range(0, size()).reduce((a, b) -> values[b] > values[a] ? b : a).orElse(0);
  }

  boolean isShare() {
    return tag.endsWith(" share") || tag.endsWith("_share");
  }

  /** Returns a value with its unit, as far as the tag tells it. */
  String text(double value) {
    return isShare() ? Numbers.percent(value) : Numbers.text(value);
  }
}
