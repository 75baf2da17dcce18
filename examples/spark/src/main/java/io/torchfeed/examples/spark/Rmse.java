// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import io.torchfeed.spark.job.SparkRanks;
import org.apache.spark.ml.recommendation.ALS;
import org.apache.spark.ml.recommendation.ALSModel;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;

/** Errors on ratings that were not trained on. */
final class Rmse {
  private static final int ALS_ITERATIONS = 15;

  /** Factors that ALS needs to represent the mean and the biases. */
  private static final int BIASES = 2;

  private static final double ALS_REGULARIZATION = 0.02;
  private static final String PREDICTED = "predicted";

  private Rmse() {}

  /**
   * Trains Spark's own factorization, and returns its predictions of the users and movies it knows.
   */
  static Dataset<Row> als(Dataset<Row> train, Dataset<Row> test, int factors) {
    ALSModel model =
        new ALS() // without checkpoints, its tasks overflow the stack after some iterations
            .setCheckpointInterval(2)
            .setUserCol("user")
            .setItemCol("movie")
            .setRatingCol("rating")
            .setPredictionCol("als")
            .setRank(factors + BIASES)
            .setMaxIter(ALS_ITERATIONS)
            .setRegParam(ALS_REGULARIZATION)
            .setSeed(1)
            .setColdStartStrategy("drop")
            .fit(train);
    return model.transform(test);
  }

  /** Returns the root mean square of the differences between a column and the rating. */
  static double of(Dataset<Row> predictions, String column) {
    return predictions
        .agg(
            functions.sqrt(
                functions.avg(
                    functions.pow(functions.col(column).minus(functions.col("rating")), 2))))
        .first()
        .getDouble(0);
  }

  /** Returns the error of a trained model. */
  static double of(RatingsTask task, byte[] trained, Dataset<Row> test) {
    return of(SparkRanks.transform(test, task.model(trained)), PREDICTED);
  }
}
