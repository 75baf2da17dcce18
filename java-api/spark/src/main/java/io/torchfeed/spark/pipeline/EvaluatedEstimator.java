// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.pipeline;

import org.apache.spark.ml.Estimator;
import org.apache.spark.ml.param.IntParam;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.ParamValidators;

/** The rows, weights, validation and early stop of a {@link TorchfeedEstimator}. */
abstract class EvaluatedEstimator extends Estimator<TorchfeedModel> {
  private static final long serialVersionUID = 1L;

  /** The name of the stage. */
  private final String uid;

  /** The column of weights. */
  private final Param<String> weightCol;

  /** The column of the validation. */
  private final Param<String> validationIndicatorCol;

  /** The evaluations before an early stop. */
  private final IntParam patience;

  /** The way of rows that do not fit. */
  private final Param<String> handleInvalid;

  EvaluatedEstimator(String uid) {
    this.uid = uid;
    weightCol = new Param<>(this, "weightCol", "column of weights; empty for none");
    validationIndicatorCol =
        new Param<>(this, "validationIndicatorCol", "true for validation; empty for none");
    patience =
        new IntParam(
            this, "patience", "epochs before an early stop; 0 for none", ParamValidators.gtEq(0));
    handleInvalid = InvalidParam.of(this);
    setDefault(handleInvalid, InvalidParam.DEFAULT);
    setDefault(weightCol, "");
    setDefault(validationIndicatorCol, "");
    setDefault(patience, 0);
  }

  @Override
  public String uid() {
    return uid;
  }

  /**
   * Returns the parameter of the column of weights.
   *
   * @return the parameter
   */
  public Param<String> weightCol() {
    return weightCol;
  }

  /**
   * Returns the parameter of the column that is true for rows of the validation.
   *
   * @return the parameter
   */
  public Param<String> validationIndicatorCol() {
    return validationIndicatorCol;
  }

  /**
   * Returns the parameter of the early stop.
   *
   * @return the parameter
   */
  public IntParam patience() {
    return patience;
  }

  /**
   * Returns the parameter of the rows that do not fit.
   *
   * @return the parameter
   */
  public Param<String> handleInvalid() {
    return handleInvalid;
  }

  final String invalid() {
    return getOrDefault(handleInvalid);
  }

  final String weight() {
    return getOrDefault(weightCol);
  }

  final String validation() {
    return getOrDefault(validationIndicatorCol);
  }

  final int patienceOrZero() {
    return (int) getOrDefault(patience);
  }
}
