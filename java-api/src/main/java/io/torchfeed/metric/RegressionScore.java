// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import io.torchfeed.internal.sums.ExactSum;
import java.math.BigInteger;
import org.bytedeco.pytorch.Tensor;

/**
 * The root of the mean squared error, or the share of the variance that a model explains (R2).
 *
 * <p>Errors are computed in float64. R2 loses no digits where the mean is large beside the
 * variance, is NaN for less than two values, and of equal targets 1 if all errors are 0, else 0.
 * Source: scikit-learn 1.9.1, {@code root_mean_squared_error} and {@code r2_score}.
 */
public final class RegressionScore extends Metric {
  private static final int ERRORS = 0;
  private static final int TARGETS = 1;
  private static final int SQUARES = 2;

  private final boolean isR2;

  private RegressionScore(boolean isR2) {
    super(isR2 ? "R2" : "RMSE", () -> new Totals(1, 3));
    this.isR2 = isR2;
  }

  /**
   * Returns the root of the mean squared error of no values.
   *
   * @return the metric
   */
  public static RegressionScore rmse() {
    return new RegressionScore(false);
  }

  /**
   * Returns the coefficient of determination of no values.
   *
   * @return the metric
   */
  public static RegressionScore r2() {
    return new RegressionScore(true);
  }

  /**
   * Counts values.
   *
   * @param output real numbers of any shape
   * @param target real numbers of the same shape
   * @throws IllegalArgumentException if the shapes differ, or a dtype is not real
   */
  public void update(Tensor output, Tensor target) {
    Values.requireReal("output", output);
    Values.requireReal("target", target);
    Values.requireSameShape("output", output, "target", target);
    double[] outputs = Values.reals(output);
    double[] targets = Values.reals(target);
    for (int i = 0; i < targets.length; i++) {
      double error = targets[i] - outputs[i];
      own.sums[ERRORS].addProduct(error, error);
      own.sums[TARGETS].add(targets[i]);
      own.sums[SQUARES].addProduct(targets[i], targets[i]);
    }
    own.counts[0] += targets.length;
  }

  @Override
  double of(Totals all) {
    return isR2 ? r2(all) : Math.sqrt(all.sums[ERRORS].value() / all.counts[0]);
  }

  private static double r2(Totals all) {
    boolean isFinite = all.sums[ERRORS].isFinite() && all.sums[SQUARES].isFinite();
    if (!isFinite || !all.sums[TARGETS].isFinite() || all.counts[0] < 2) {
      return Double.NaN;
    }
    BigInteger count = BigInteger.valueOf(all.counts[0]);
    BigInteger errors = scaled(all.sums[ERRORS]).multiply(count);
    BigInteger variance =
        scaled(all.sums[SQUARES]).multiply(count).subtract(all.sums[TARGETS].units().pow(2));
    if (variance.signum() <= 0) {
      return errors.signum() == 0 ? 1 : 0;
    }
    return ExactSum.quotient(variance.subtract(errors), variance);
  }

  /** Returns a sum in units of a squared sum. */
  private static BigInteger scaled(ExactSum sum) {
    return sum.units().shiftLeft(-ExactSum.UNIT);
  }
}
