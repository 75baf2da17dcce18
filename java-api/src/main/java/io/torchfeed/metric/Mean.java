// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import org.bytedeco.pytorch.Tensor;

/**
 * The mean of values, each with a weight, for example of losses.
 *
 * <pre>{@code
 * Mean loss = Mean.create();
 * loss.update(cross_entropy(net.forward(images), labels).item_double(), batchSize);
 * double result = loss.compute();
 * }</pre>
 *
 * <p>The sum of the products is exact and rounded once. NaN if a value is, or the weights are all
 * 0. Source: torchmetrics 1.9.0, {@code MeanMetric}.
 */
public final class Mean extends Metric {
  private Mean() {
    super("mean", () -> new Totals(0, 2));
  }

  /**
   * Returns a mean of no values.
   *
   * @return the metric
   */
  public static Mean create() {
    return new Mean();
  }

  /**
   * Adds a value.
   *
   * @param value any; NaN and infinities as in a sum
   * @param weight at least 0, and finite
   * @throws IllegalArgumentException if the weight is not
   */
  public void update(double value, double weight) {
    requireWeight(weight);
    add(value, weight);
  }

  /**
   * Adds values of weight 1.
   *
   * @param values real numbers of any shape, also none
   */
  public void update(Tensor values) {
    for (double value : Values.reals(Values.requireReal("values", values))) {
      add(value, 1);
    }
  }

  /**
   * Adds values.
   *
   * @param values real numbers of any shape
   * @param weights one for each value, in the same shape: at least 0, and finite
   * @throws IllegalArgumentException if the shapes differ, or a weight is out of range
   */
  public void update(Tensor values, Tensor weights) {
    Values.requireReal("values", values);
    Values.requireReal("weights", weights);
    Values.requireSameShape("values", values, "weights", weights);
    double[] all = Values.reals(values);
    double[] allWeights = Values.reals(weights);
    for (double weight : allWeights) {
      requireWeight(weight);
    }
    for (int i = 0; i < all.length; i++) {
      add(all[i], allWeights[i]);
    }
  }

  private static void requireWeight(double weight) {
    if (!(weight >= 0 && weight < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException("a weight must be at least 0 and finite, got " + weight);
    }
  }

  private void add(double value, double weight) {
    own.sums[0].addProduct(value, weight);
    own.sums[1].add(weight);
  }

  @Override
  double of(Totals all) {
    return all.sums[0].value() / all.sums[1].value();
  }
}
