// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import java.util.Arrays;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/**
 * The numbers of samples of each class that a model took for each class.
 *
 * <p>Its result, {@link #compute}, is the share of samples on the diagonal; {@link #counts} has all
 * numbers. Source: scikit-learn 1.9.1, {@code confusion_matrix}.
 */
public final class ConfusionMatrix extends Metric {
  private static final int MAX_CLASSES = 4096; // 128 MiB

  private final int classes;

  private ConfusionMatrix(int classes) {
    super("confusion of %s classes".formatted(classes), () -> new Totals(classes * classes, 0));
    this.classes = classes;
  }

  /**
   * Returns a matrix of no samples.
   *
   * @param classes the number of classes, in [1, 4096]
   * @return the metric, whose numbers take 8 bytes each
   * @throws IllegalArgumentException if the number is out of range
   */
  public static ConfusionMatrix of(int classes) {
    return new ConfusionMatrix(Values.requireRange("classes", classes, 1, MAX_CLASSES));
  }

  /**
   * Counts samples.
   *
   * @param output scores {@code [..., classes]} of a real dtype, whose highest counts, or classes
   *     {@code [...]}, whole numbers or booleans
   * @param target classes {@code [...]}, whole numbers; a sample of the class -100 does not count
   * @throws IllegalArgumentException if shapes or dtypes do not fit, a class is out of range, or a
   *     score is NaN
   */
  public void update(Tensor output, Tensor target) {
    try (PointerScope scope = new PointerScope()) {
      Labels labels = Labels.of(output, target, classes);
      for (int i = 0; i < labels.target.length; i++) {
        own.counts[(int) (labels.target[i] * classes + labels.chosen[i])]++;
      }
    }
  }

  /**
   * Returns the numbers of samples.
   *
   * @return a new array: a row for each class of the target, with a column for each class that was
   *     chosen
   */
  public long[][] counts() {
    long[] all = all().counts;
    long[][] rows = new long[classes][];
    Arrays.setAll(rows, row -> Arrays.copyOfRange(all, row * classes, (row + 1) * classes));
    return rows;
  }

  @Override
  double of(Totals all) {
    long right = 0;
    long samples = 0;
    for (int i = 0; i < all.counts.length; i++) {
      right += i / classes == i % classes ? all.counts[i] : 0;
      samples += all.counts[i];
    }
    return right / (double) samples;
  }
}
