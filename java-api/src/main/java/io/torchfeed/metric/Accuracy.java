// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/**
 * The share of samples whose class is the one with the highest score, or among the k highest.
 *
 * <p>Of equal scores, the class with the lower number comes first. A sample with a NaN score counts
 * as wrong. Source: scikit-learn 1.9.1, {@code accuracy_score} and, apart from equal scores, {@code
 * top_k_accuracy_score}.
 */
public final class Accuracy extends Metric {
  private static final int RIGHT = 0;
  private static final int ALL = 1;

  private final int k;

  private Accuracy(int k) {
    super("accuracy of top " + k, () -> new Totals(2, 0));
    this.k = k;
  }

  /**
   * Returns the accuracy of the class with the highest score.
   *
   * @return the metric
   */
  public static Accuracy create() {
    return new Accuracy(1);
  }

  /**
   * Returns the accuracy of the classes with the highest scores.
   *
   * @param k how many classes may be named, at least 1
   * @return the metric
   * @throws IllegalArgumentException if k is less than 1
   */
  public static Accuracy top(int k) {
    return new Accuracy(Values.requireAtLeastOne("k", k));
  }

  /**
   * Counts samples.
   *
   * @param output scores {@code [..., classes]} of at least 2 classes, of a real dtype; with k = 1
   *     also classes {@code [...]}, whole numbers or booleans such as {@code probability.gt(0.5)}
   * @param target classes {@code [...]}, whole numbers; a sample of the class -100 does not count
   * @throws IllegalArgumentException if shapes or dtypes do not fit, or a target is out of range
   */
  public void update(Tensor output, Tensor target) {
    try (PointerScope scope = new PointerScope()) {
      if (k == 1 && !ClassScores.hasClasses(output, target)) {
        Labels labels = Labels.of(output, target, Integer.MAX_VALUE);
        for (int i = 0; i < labels.target.length; i++) {
          add(labels.target[i] == labels.chosen[i]);
        }
        return;
      }
      for (long place : ClassScores.of(output, target).places()) {
        add(place < k);
      }
    }
  }

  private void add(boolean isRight) {
    own.counts[RIGHT] += isRight ? 1 : 0;
    own.counts[ALL]++;
  }

  @Override
  double of(Totals all) {
    return all.counts[RIGHT] / (double) all.counts[ALL];
  }
}
