// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.pipeline;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.spark.RowColumn;
import io.torchfeed.spark.job.SparkRanks;
import io.torchfeed.spark.rows.RowEncoder;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.apache.spark.ml.Estimator;
import org.apache.spark.ml.param.DoubleParam;
import org.apache.spark.ml.param.IntParam;
import org.apache.spark.ml.param.LongParam;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.ml.param.ParamValidators;
import org.apache.spark.ml.util.MLReader;
import org.apache.spark.ml.util.MLWritable;
import org.apache.spark.ml.util.MLWriter;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.StructType;
import org.bytedeco.pytorch.Module;

/**
 * A network as a stage of a pipeline of Spark ML: {@code fit} trains it by Adam on the executors,
 * as {@link SparkRanks} does.
 *
 * <pre>{@code
 * TorchfeedEstimator estimator =
 *     TorchfeedEstimator.of(
 *             net, // a TorchfeedNet
 *             RowColumn.of("prediction", DType.FLOAT32),
 *             RowColumn.of("label", DType.FLOAT32),
 *             RowColumn.of("features", DType.FLOAT32, 3))
 *         .setRanks(2)
 *         .setEpochs(5);
 * Dataset<Row> predicted = estimator.fit(dataFrame).transform(dataFrame);
 * }</pre>
 */
public final class TorchfeedEstimator extends Estimator<TorchfeedModel> implements MLWritable {
  private static final long serialVersionUID = 1L;

  private static final double DEFAULT_RATE = 1e-3;

  /** The name of the stage. */
  private final String uid;

  /** The network. */
  private final NetColumns columns;

  /** The number of executors. */
  private final IntParam ranks;

  /** The number of passes. */
  private final IntParam epochs;

  /** The rows of a step. */
  private final IntParam batchSize;

  /** The learning rate. */
  private final DoubleParam learningRate;

  /** The seed. */
  private final LongParam seed;

  /** The folder of checkpoints. */
  private final Param<String> checkpoints;

  private TorchfeedEstimator(String uid, NetColumns columns) {
    this.uid = uid;
    this.columns = columns;
    ranks = new IntParam(this, "ranks", "executors that train together", ParamValidators.gt(0));
    epochs = new IntParam(this, "epochs", "passes over the rows", ParamValidators.gt(0));
    batchSize =
        new IntParam(this, "batchSize", "rows of a step on each rank", ParamValidators.gt(0));
    learningRate =
        new DoubleParam(this, "learningRate", "learning rate of Adam", ParamValidators.gt(0));
    seed = new LongParam(this, "seed", "seed of the order and the steps");
    checkpoints = new Param<>(this, "checkpoints", "folder of checkpoints; empty for none");
    setDefault(ranks, 1);
    setDefault(epochs, 1);
    setDefault(batchSize, 64);
    setDefault(learningRate, DEFAULT_RATE);
    setDefault(seed, 0L);
    setDefault(checkpoints, "");
  }

  /**
   * Returns an estimator of one rank, one epoch, batches of 64 rows and a learning rate of 0.001.
   *
   * @param <M> the type of the module
   * @param net the network
   * @param output the column that the model adds
   * @param label the column that the loss compares with
   * @param inputs the columns that the network takes, at least one
   * @return the estimator
   * @throws IllegalArgumentException if there are no inputs
   */
  public static <M extends Module> TorchfeedEstimator of(
      TorchfeedNet<M> net, RowColumn output, RowColumn label, RowColumn... inputs) {
    requireNonNull(net, "net");
    requireNonNull(output, "output");
    requireNonNull(label, "label");
    List<RowColumn> all = Checks.copyOf("inputs", Arrays.asList(requireNonNull(inputs, "inputs")));
    if (all.isEmpty()) {
      throw new IllegalArgumentException("at least one input is needed, got none");
    }
    return new TorchfeedEstimator(
        "torchfeed_" + UUID.randomUUID(), new NetColumns(net, output, label, all));
  }

  /**
   * Returns the parameter of {@link #setRanks}.
   *
   * @return the parameter
   */
  public IntParam ranks() {
    return ranks;
  }

  /**
   * Sets the number of executors that train together.
   *
   * @param value at least 1
   * @return this estimator
   */
  public TorchfeedEstimator setRanks(int value) {
    set(ranks, value);
    return this;
  }

  /**
   * Returns the parameter of {@link #setEpochs}.
   *
   * @return the parameter
   */
  public IntParam epochs() {
    return epochs;
  }

  /**
   * Sets the number of passes over the rows.
   *
   * @param value at least 1
   * @return this estimator
   */
  public TorchfeedEstimator setEpochs(int value) {
    set(epochs, value);
    return this;
  }

  /**
   * Returns the parameter of {@link #setBatchSize}.
   *
   * @return the parameter
   */
  public IntParam batchSize() {
    return batchSize;
  }

  /**
   * Sets the number of rows of a step on each rank.
   *
   * @param value at least 1
   * @return this estimator
   */
  public TorchfeedEstimator setBatchSize(int value) {
    set(batchSize, value);
    return this;
  }

  /**
   * Returns the parameter of {@link #setLearningRate}.
   *
   * @return the parameter
   */
  public DoubleParam learningRate() {
    return learningRate;
  }

  /**
   * Sets the learning rate of Adam.
   *
   * @param value above 0
   * @return this estimator
   */
  public TorchfeedEstimator setLearningRate(double value) {
    set(learningRate, value);
    return this;
  }

  /**
   * Returns the parameter of {@link #setSeed}.
   *
   * @return the parameter
   */
  public LongParam seed() {
    return seed;
  }

  /**
   * Sets the seed of the order of the rows and of the steps.
   *
   * @param value any number
   * @return this estimator
   */
  public TorchfeedEstimator setSeed(long value) {
    set(seed, value);
    return this;
  }

  /**
   * Returns the parameter of {@link #setCheckpoints}.
   *
   * @return the parameter
   */
  public Param<String> checkpoints() {
    return checkpoints;
  }

  /**
   * Sets the folder of the checkpoints, as {@link SparkRanks#checkpoints}.
   *
   * @param path of any file system of Hadoop's; empty for none
   * @return this estimator
   */
  public TorchfeedEstimator setCheckpoints(String path) {
    set(checkpoints, requireNonNull(path, "path"));
    return this;
  }

  @Override
  public TorchfeedModel fit(Dataset<?> dataset) {
    requireNonNull(dataset, "dataset");
    RowColumn[] all = columns.ofTraining();
    Dataset<Row> rows =
        dataset.select(
            Arrays.stream(all).map(each -> functions.col(each.name())).toArray(Column[]::new));
    SparkRanks job = SparkRanks.on(rows).ranks((int) getOrDefault(ranks)).columns(all);
    String path = getOrDefault(checkpoints);
    List<byte[]> models = (path.isEmpty() ? job : job.checkpoints(path)).train(task(columns.net()));
    return copyValues(new TorchfeedModel(uid, columns, models.get(0)), extractParamMap())
        .setParent(this);
  }

  private <M extends Module> NetTask<M> task(TorchfeedNet<M> net) {
    return new NetTask<>(
        net,
        (int) getOrDefault(epochs),
        (int) getOrDefault(batchSize),
        (double) getOrDefault(learningRate),
        (long) getOrDefault(seed));
  }

  @Override
  public StructType transformSchema(StructType schema) {
    requireNonNull(schema, "schema");
    RowEncoder.of(schema, List.of(columns.ofTraining()));
    return columns.extended(schema);
  }

  @Override
  public TorchfeedEstimator copy(ParamMap extra) {
    return copyValues(new TorchfeedEstimator(uid, columns), requireNonNull(extra, "extra"));
  }

  @Override
  public String uid() {
    return uid;
  }

  @Override
  public MLWriter write() {
    return new MLWriter() {
      @Override
      public void saveImpl(String path) {
        try {
          new StageFiles(sparkSession(), path).write(TorchfeedEstimator.class, uid, saved());
        } catch (IOException e) {
          throw new UncheckedIOException("the estimator cannot be saved in " + path, e);
        }
      }
    };
  }

  private Saved saved() {
    return new Saved(
        uid, columns, (int) getOrDefault(ranks), task(columns.net()), getOrDefault(checkpoints));
  }

  /**
   * Returns the reader of saved estimators, which {@code Pipeline.load} calls.
   *
   * @return the reader
   */
  public static MLReader<TorchfeedEstimator> read() {
    return new MLReader<>() {
      @Override
      public TorchfeedEstimator load(String path) {
        return new StageFiles(sparkSession(), path).read(Saved.class).estimator();
      }
    };
  }

  /**
   * Loads a saved estimator.
   *
   * @param path the folder
   * @return the estimator
   * @throws UncheckedIOException if it cannot be read, or its classes are missing
   */
  public static TorchfeedEstimator load(String path) {
    return read().load(requireNonNull(path, "path"));
  }

  /**
   * A saved estimator.
   *
   * @param uid its identifier in Spark
   * @param columns of the data
   * @param ranks the number of ranks
   * @param task of each rank
   * @param checkpoints the folder of the checkpoints
   */
  private record Saved(
      String uid, NetColumns columns, int ranks, NetTask<?> task, String checkpoints)
      implements Serializable {
    TorchfeedEstimator estimator() {
      return new TorchfeedEstimator(uid, columns)
          .setRanks(ranks)
          .setEpochs(task.epochs())
          .setBatchSize(task.batchSize())
          .setLearningRate(task.rate())
          .setSeed(task.seed())
          .setCheckpoints(checkpoints);
    }
  }
}
