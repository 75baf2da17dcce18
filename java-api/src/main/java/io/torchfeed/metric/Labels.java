// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import java.util.Arrays;
import org.bytedeco.pytorch.Tensor;

/** The classes of samples and those that a model chose, without samples that are ignored. */
final class Labels {
  /** A class for each sample. */
  final long[] target;

  /** A class for each sample. */
  final long[] chosen;

  private Labels(long[] target, long[] chosen) {
    this.target = target;
    this.chosen = chosen;
  }

  /**
   * Takes scores {@code [..., classes]} or classes {@code [...]}, and targets {@code [...]}.
   *
   * @param classes all classes are below this
   * @throws IllegalArgumentException if shapes or dtypes do not fit, a class is out of range, or a
   *     score is NaN
   */
  static Labels of(Tensor output, Tensor target, int classes) {
    if (ClassScores.hasClasses(output, target)) {
      ClassScores scores = ClassScores.of(output, target);
      if (scores.classes != classes) {
        throw new IllegalArgumentException(
            "output must have scores of %d classes, got %s"
                .formatted(classes, Values.describe(output)));
      }
      return new Labels(scores.target, scores.best());
    }
    if (!Values.isWhole(output)) {
      throw new IllegalArgumentException(
          "output must be scores [..., classes] or classes, got %s; of a model with one score pass"
                  .formatted(Values.describe(output))
              + " output.gt(new Scalar(0.5))");
    }
    Values.requireWhole("target", target);
    Values.requireSameShape("output", output, "target", target);
    long[] all = Values.wholes(target);
    long[] chosen = Values.wholes(output);
    long[] counted = ClassScores.counted(all, classes);
    for (long row : counted) {
      ClassScores.requireClass("output", chosen[(int) row], (int) row, classes);
    }
    return new Labels(select(all, counted), select(chosen, counted));
  }

  /** Returns the values of some rows. */
  static long[] select(long[] values, long[] rows) {
    return Arrays.stream(rows).map(row -> values[(int) row]).toArray();
  }
}
