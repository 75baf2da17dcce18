// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.pipeline;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.spark.RankProgress;
import io.torchfeed.spark.RowColumn;
import io.torchfeed.spark.job.SparkRanks;
import io.torchfeed.spark.rows.RowEncoder;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;
import org.apache.spark.ml.param.DoubleParam;
import org.apache.spark.ml.param.IntParam;
import org.apache.spark.ml.param.LongParam;
import org.apache.spark.ml.param.Param;
import org.apache.spark.ml.param.ParamMap;
import org.apache.spark.ml.param.ParamValidators;
import org.apache.spark.ml.util.MLReader;
import org.apache.spark.ml.util.MLWritable;
import org.apache.spark.ml.util.MLWriter;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.types.StructType;
import org.bytedeco.pytorch.Module;
import org.jspecify.annotations.Nullable;

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
public final class TorchfeedEstimator extends EvaluatedEstimator implements MLWritable {
  private static final long serialVersionUID = 1L;

  private static final double DEFAULT_RATE = 1e-3;

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

  private transient @Nullable Consumer<RankProgress> onProgress;

  TorchfeedEstimator(String uid, NetColumns columns) {
    super(uid);
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

  /**
   * Sets the column of weights, numbers of at least 0. The network is a {@link
   * TorchfeedNet.OfRows}. The loss of a step is the weighted mean over the rows of all ranks in it.
   *
   * @param name the column's name; empty for none
   * @return this estimator
   */
  public TorchfeedEstimator setWeightCol(String name) {
    set(weightCol(), requireNonNull(name, "name"));
    return this;
  }

  /**
   * Sets the boolean column that is true for the rows that validate, as in Spark's {@code
   * GBTClassifier}. They are not trained with; after each epoch their mean loss is computed, and
   * {@code fit} returns the network of the epoch with the lowest.
   *
   * @param name the column's name; empty for none
   * @return this estimator
   */
  public TorchfeedEstimator setValidationIndicatorCol(String name) {
    set(validationIndicatorCol(), requireNonNull(name, "name"));
    return this;
  }

  /**
   * Sets the way of rows that do not fit, as {@link io.torchfeed.spark.InvalidRows} describes it,
   * here and in the model.
   *
   * @param value {@code error}, {@code skip} or {@code keep}
   * @return this estimator
   */
  public TorchfeedEstimator setHandleInvalid(String value) {
    set(handleInvalid(), requireNonNull(value, "value"));
    return this;
  }

  /**
   * Sets an early stop, when a number of epochs in a row had no lower loss of the validation.
   *
   * @param value how many; 0 for no early stop
   * @return this estimator
   */
  public TorchfeedEstimator setPatience(int value) {
    set(patience(), value);
    return this;
  }

  /**
   * Sets the consumer of the figures that the ranks report while {@code fit} runs: {@code loss},
   * {@code rows} and {@code seconds} of each epoch, and {@code validationLoss}. It is not saved.
   *
   * @param consumer called as by {@link SparkRanks#onProgress}
   * @return this estimator
   */
  public TorchfeedEstimator onProgress(Consumer<RankProgress> consumer) {
    onProgress = requireNonNull(consumer, "consumer");
    return this;
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalArgumentException if there is an early stop without a validation, or there are
   *     weights and the network has no loss for each row
   * @throws io.torchfeed.spark.SparkRanksException as {@link SparkRanks#train}
   */
  @Override
  public TorchfeedModel fit(Dataset<?> dataset) {
    requireNonNull(dataset, "dataset");
    if (patienceOrZero() > 0 && validation().isEmpty()) {
      throw new IllegalArgumentException("an early stop needs setValidationIndicatorCol");
    }
    if (!weight().isEmpty() && !(columns.net() instanceof TorchfeedNet.OfRows)) {
      throw new IllegalArgumentException(
          "weights need the loss of each row: implement TorchfeedNet.OfRows in "
              + columns.net().getClass().getName());
    }
    RowColumn[] all = ofTraining();
    SparkRanks job =
        SparkRanks.on(NetColumns.select(dataset, all))
            .ranks((int) getOrDefault(ranks))
            .columns(all)
            .invalidRows(InvalidParam.rows(invalid()));
    if (onProgress != null) {
      job.onProgress(onProgress);
    }
    String path = getOrDefault(checkpoints);
    List<byte[]> models = (path.isEmpty() ? job : job.checkpoints(path)).train(task(columns.net()));
    return copyValues(new TorchfeedModel(uid(), columns, models.get(0)), extractParamMap())
        .setParent(this);
  }

  private <M extends Module> NetTask<M> task(TorchfeedNet<M> net) {
    return new NetTask<>(
        net,
        columns.inputs().size(),
        (int) getOrDefault(epochs),
        (int) getOrDefault(batchSize),
        (double) getOrDefault(learningRate),
        (long) getOrDefault(seed),
        weight(),
        validation(),
        patienceOrZero());
  }

  private RowColumn[] ofTraining() {
    return columns.ofTraining(weight(), validation());
  }

  @Override
  public StructType transformSchema(StructType schema) {
    requireNonNull(schema, "schema");
    RowEncoder.of(schema, List.of(ofTraining()));
    return columns.extended(schema, InvalidParam.rows(invalid()));
  }

  @Override
  public TorchfeedEstimator copy(ParamMap extra) {
    TorchfeedEstimator copy = new TorchfeedEstimator(uid(), columns);
    copy.onProgress = onProgress;
    return copyValues(copy, requireNonNull(extra, "extra"));
  }

  @Override
  public MLWriter write() {
    return new SavedEstimator(
            uid(),
            columns,
            (int) getOrDefault(ranks),
            task(columns.net()),
            getOrDefault(checkpoints),
            invalid())
        .writer();
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
        return new StageFiles(sparkSession(), path).read(SavedEstimator.class).estimator();
      }
    };
  }

  /**
   * Loads a saved estimator.
   *
   * @param path the folder
   * @return the estimator
   * @throws java.io.UncheckedIOException if it cannot be read, or its classes are missing
   */
  public static TorchfeedEstimator load(String path) {
    return read().load(requireNonNull(path, "path"));
  }
}
