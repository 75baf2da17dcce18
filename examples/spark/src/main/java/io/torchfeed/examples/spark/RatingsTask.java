// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.memory.DType;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.spark.ModelBytes;
import io.torchfeed.spark.RankContext;
import io.torchfeed.spark.RankLoop;
import io.torchfeed.spark.RankModel;
import io.torchfeed.spark.RankRows;
import io.torchfeed.spark.RankTask;
import io.torchfeed.spark.RowColumn;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.Tensor;

/**
 * The work of a rank: trains on its ratings.
 *
 * @param shape the sizes
 * @param epochs passes over the ratings
 * @param batchSize ratings of a step on this rank
 * @param rate the learning rate
 * @param regularization the factor of the embeddings' squares
 */
record RatingsTask(
    RatingsShape shape, int epochs, int batchSize, double rate, double regularization)
    implements RankTask<byte[]> {
  private static final RowColumn USER = RowColumn.of("user", DType.INT64);
  private static final RowColumn MOVIE = RowColumn.of("movie", DType.INT64);
  private static final RowColumn RATING = RowColumn.of("rating", DType.FLOAT32);
  private static final int PREDICTION_ROWS = 4096;

  static RowColumn[] columns() {
    return new RowColumn[] {USER, MOVIE, RATING};
  }

  @Override
  public byte[] train(RankContext context, RankRows rows) {
    try (FactorNet net = new FactorNet(shape);
        AdamOptions options = new AdamOptions(rate);
        Adam optimizer = new Adam(net.parameters(), options);
        DistributedDataParallel model = DistributedDataParallel.wrap(net, context.group());
        DataLoader loader =
            rows.loader()
                .batchSize(batchSize)
                .sampler(ShuffledSampler.of(rows.size(), 42))
                .build()) {
      RankLoop.of(context, model, loader)
          .withEpochs(epochs)
          .withState(state -> state.module("model", net).optimizer("optimizer", optimizer, net))
          .run(
              optimizer,
              batch ->
                  net.loss(
                      batch.tensor("user"),
                      batch.tensor("movie"),
                      batch.tensor("rating"),
                      regularization));
      return ModelBytes.of(net);
    }
  }

  /** Returns the trained model, for executors to apply to users and movies. */
  RankModel model(byte[] trained) {
    RatingsShape sizes = shape;
    return RankModel.of(
            trained,
            bytes -> open(sizes, bytes),
            RowColumn.of("predicted", DType.FLOAT32),
            USER,
            MOVIE)
        .withBatchSize(PREDICTION_ROWS);
  }

  private static RankModel.Forward open(RatingsShape shape, byte[] trained) {
    FactorNet net = new FactorNet(shape);
    ModelBytes.load(trained, net);
    net.eval();
    return new RankModel.Forward() {
      @Override
      public Tensor of(Tensor[] columns) {
        return net.forward(columns[0], columns[1]);
      }

      @Override
      public void close() {
        net.close();
      }
    };
  }
}
