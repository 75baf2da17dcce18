// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.memory.DType;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.spark.job.SparkRanks;
import io.torchfeed.trace.TraceOptions;
import java.io.Serializable;
import java.nio.file.Path;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.jspecify.annotations.Nullable;

/** A training over {@link TestSpark#points}, which may be disturbed in a step. */
final class LineTask implements RankTask<byte[]> {
  private static final long serialVersionUID = 1L;

  static final int BATCH = 16;
  private static final double RATE = 0.1;
  private static final double MOMENTUM = 0.9;

  private final byte[] initial;
  private final int epochs;
  private final @Nullable String log;
  private final @Nullable Disturbance disturbance;
  private final @Nullable String trace;

  private LineTask(
      byte[] initial,
      int epochs,
      @Nullable String log,
      @Nullable Disturbance disturbance,
      @Nullable String trace) {
    this.initial = initial;
    this.epochs = epochs;
    this.log = log;
    this.disturbance = disturbance;
    this.trace = trace;
  }

  /** An event before a step. */
  interface Disturbance extends Serializable {
    void before(RankContext context, Batch batch);
  }

  /** Returns a training of two epochs, with equal parameters at the start. */
  static LineTask of(@Nullable String log, @Nullable Disturbance disturbance) {
    try (LineNet net = new LineNet()) {
      return new LineTask(ModelBytes.of(net), 2, log, disturbance, null);
    }
  }

  /** Returns this training with a trace in a folder. */
  LineTask traced(String folder) {
    return new LineTask(initial, epochs, log, disturbance, folder);
  }

  static SparkRanks ranks(Dataset<Row> points) {
    return SparkRanks.on(points)
        .ranks(2)
        .columns(
            RowColumn.of("id", DType.INT64),
            RowColumn.of("x", DType.FLOAT32, 3),
            RowColumn.of("y", DType.FLOAT32));
  }

  static SGD optimizer(LineNet net) {
    SGDOptions options = new SGDOptions(RATE);
    options.momentum().put(MOMENTUM);
    return new SGD(net.parameters(), options);
  }

  @Override
  public byte[] train(RankContext context, RankRows rows) {
    try (LineNet net = new LineNet()) {
      ModelBytes.load(initial, net);
      try (SGD optimizer = optimizer(net);
          DistributedDataParallel model = DistributedDataParallel.wrap(net, context.group());
          DataLoader loader =
              rows.loader().batchSize(BATCH).sampler(ShuffledSampler.of(rows.size(), 42)).build()) {
        RankLoop loop = RankLoop.of(context, model, loader);
        if (trace != null) {
          loop = loop.withTrace(TraceOptions.to(Path.of(trace)));
        }
        loop.withEpochs(epochs)
            .withCheckpointEvery(2)
            .withState(state -> state.module("model", net).optimizer("optimizer", optimizer, net))
            .run(
                optimizer,
                batch -> {
                  if (log != null) {
                    StepLog.note(log, context, batch);
                  }
                  if (disturbance != null) {
                    disturbance.before(context, batch);
                  }
                  return net.loss(batch, 1, 2);
                });
        return ModelBytes.of(net);
      }
    }
  }
}
