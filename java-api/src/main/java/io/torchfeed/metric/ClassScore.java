// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import static java.util.Objects.requireNonNull;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/**
 * The precision, recall or F1 of the classes that a model chooses.
 *
 * <p>A class without samples has a score of 0 where it would be 0 / 0. NaN only without any sample.
 * Source: scikit-learn 1.9.1, {@code precision_score}, {@code recall_score} and {@code f1_score}.
 */
public final class ClassScore extends Metric {
  /** A rule by which the scores of classes become one. */
  public enum Average {
    /** The score of class 1 alone, of two classes. */
    BINARY,

    /** The score of all samples together, whatever their class. */
    MICRO,

    /** The mean over the classes that occur in targets or outputs. */
    MACRO,

    /** The mean over the classes, weighted by their numbers of samples in the target. */
    WEIGHTED
  }

  private enum Kind {
    PRECISION,
    RECALL,
    F1
  }

  private static final int ROWS = 3; // right, chosen, target
  private static final int MAX_CLASSES = 1 << 20;

  private final Kind kind;
  private final int classes;
  private final Average average;

  private ClassScore(Kind kind, int classes, Average average) {
    super(
        "%s of %s classes, %s".formatted(kind, requireFit(classes, average), average),
        () -> new Totals(ROWS * classes, 0));
    this.kind = kind;
    this.classes = classes;
    this.average = average;
  }

  private static int requireFit(int classes, Average average) {
    requireNonNull(average, "average");
    Values.requireRange("classes", classes, 1, MAX_CLASSES);
    if (average == Average.BINARY && classes != 2) {
      throw new IllegalArgumentException(
          "the average BINARY is for 2 classes, got %d; choose MICRO, MACRO or WEIGHTED"
              .formatted(classes));
    }
    return classes;
  }

  /**
   * Returns a precision: the share of the samples taken for a class that are of it.
   *
   * @param classes the number of classes, in [1, 2<sup>20</sup>]; each takes 24 bytes
   * @param average how the precisions of classes become one
   * @return the metric
   * @throws IllegalArgumentException if the classes are out of range, or not 2 for {@code BINARY}
   */
  public static ClassScore precision(int classes, Average average) {
    return new ClassScore(Kind.PRECISION, classes, average);
  }

  /**
   * Returns a recall: the share of the samples of a class that are taken for it.
   *
   * @param classes as in {@link #precision}
   * @param average how the recalls of classes become one
   * @return the metric
   * @throws IllegalArgumentException as in {@link #precision}
   */
  public static ClassScore recall(int classes, Average average) {
    return new ClassScore(Kind.RECALL, classes, average);
  }

  /**
   * Returns an F1: the harmonic mean of precision and recall.
   *
   * @param classes as in {@link #precision}
   * @param average how the F1 of classes become one
   * @return the metric
   * @throws IllegalArgumentException as in {@link #precision}
   */
  public static ClassScore f1(int classes, Average average) {
    return new ClassScore(Kind.F1, classes, average);
  }

  /**
   * Counts samples.
   *
   * @param output scores {@code [..., classes]} of a real dtype, whose highest counts, or classes
   *     {@code [...]}, whole numbers or booleans such as {@code probability.gt(0.5)}
   * @param target classes {@code [...]}, whole numbers; a sample of the class -100 does not count
   * @throws IllegalArgumentException if shapes or dtypes do not fit, a class is out of range, or a
   *     score is NaN
   */
  public void update(Tensor output, Tensor target) {
    try (PointerScope scope = new PointerScope()) {
      Labels labels = Labels.of(output, target, classes);
      for (int i = 0; i < labels.target.length; i++) {
        int of = (int) labels.target[i];
        int taken = (int) labels.chosen[i];
        own.counts[of] += of == taken ? 1 : 0;
        own.counts[classes + taken]++;
        own.counts[2 * classes + of]++;
      }
    }
  }

  @Override
  double of(Totals all) {
    double sum = 0;
    double weights = 0;
    long[] together = new long[ROWS];
    for (int i = 0; i < classes; i++) {
      long right = all.counts[i];
      long chosen = all.counts[classes + i];
      long target = all.counts[2 * classes + i];
      together[0] += right;
      together[1] += chosen;
      together[2] += target;
      double weight =
          switch (average) {
            case BINARY -> i;
            case MACRO -> chosen + target > 0 ? 1 : 0;
            default -> target;
          };
      sum += weight * score(right, chosen, target);
      weights += weight;
    }
    if (together[2] == 0) {
      return Double.NaN;
    }
    return average == Average.MICRO ? score(together[0], together[1], together[2]) : sum / weights;
  }

  private double score(long right, long chosen, long target) {
    double of =
        switch (kind) {
          case PRECISION -> chosen;
          case RECALL -> target;
          case F1 -> (chosen + target) / 2.0;
        };
    return of == 0 ? 0 : right / of;
  }
}
