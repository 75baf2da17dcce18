// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.pipeline;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import org.apache.spark.ml.util.MLWriter;

/**
 * A saved estimator.
 *
 * @param uid its identifier in Spark
 * @param columns of the data
 * @param ranks the number of ranks
 * @param task of each rank
 * @param checkpoints the folder of the checkpoints
 * @param invalid the way of rows that do not fit
 */
record SavedEstimator(
    String uid, NetColumns columns, int ranks, NetTask<?> task, String checkpoints, String invalid)
    implements Serializable {
  TorchfeedEstimator estimator() {
    TorchfeedEstimator estimator = new TorchfeedEstimator(uid, columns);
    if (!task.weight().isEmpty()) {
      estimator.setWeightCol(task.weight());
    }
    if (!task.validation().isEmpty()) {
      estimator.setValidationIndicatorCol(task.validation());
    }
    if (task.patience() > 0) {
      estimator.setPatience(task.patience());
    }
    if (!invalid.equals(InvalidParam.DEFAULT)) {
      estimator.setHandleInvalid(invalid);
    }
    return estimator
        .setRanks(ranks)
        .setEpochs(task.epochs())
        .setBatchSize(task.batchSize())
        .setLearningRate(task.rate())
        .setSeed(task.seed())
        .setCheckpoints(checkpoints);
  }

  MLWriter writer() {
    return new MLWriter() {
      @Override
      public void saveImpl(String path) {
        try {
          new StageFiles(sparkSession(), path)
              .write(TorchfeedEstimator.class, uid, SavedEstimator.this);
        } catch (IOException e) {
          throw new UncheckedIOException("the estimator cannot be saved in " + path, e);
        }
      }
    };
  }
}
