// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.job;

import static java.util.Objects.requireNonNull;

import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Once;
import io.torchfeed.internal.TimeLimit;
import io.torchfeed.spark.InvalidRows;
import io.torchfeed.spark.RankModel;
import io.torchfeed.spark.RankProgress;
import io.torchfeed.spark.RankTask;
import io.torchfeed.spark.RowColumn;
import io.torchfeed.spark.RowOrder;
import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import io.torchfeed.spark.executor.BarrierRank;
import io.torchfeed.spark.executor.JobSettings;
import io.torchfeed.spark.executor.ModelRows;
import io.torchfeed.spark.link.DriverLink;
import io.torchfeed.spark.link.SerializedValue;
import io.torchfeed.spark.rows.InternalRows;
import io.torchfeed.spark.rows.ModelSchema;
import io.torchfeed.spark.rows.RowEncoder;
import java.io.IOException;
import java.io.Serializable;
import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;
import org.jspecify.annotations.Nullable;

/**
 * Ranks on the executors of a Spark cluster, each over the rows of one partition.
 *
 * <pre>{@code
 * List<byte[]> models =
 *     SparkRanks.on(dataFrame)
 *         .ranks(2)
 *         .columns(RowColumn.of("pixels", DType.FLOAT32, 784), RowColumn.of("label", DType.INT64))
 *         .checkpoints("hdfs:///models/mnist")
 *         .train(
 *             (context, rows) -> {
 *               try (Net net = new Net();
 *                   var model = DistributedDataParallel.wrap(net, context.group());
 *                   var loader = rows.loader().batchSize(64)
 *                       .sampler(ShuffledSampler.of(rows.size(), 42)).build()) {
 *                 SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.05));
 *                 RankLoop.of(context, model, loader)
 *                     .withState(state -> state.module("model", net))
 *                     .run(
 *                         optimizer,
 *                         batch -> nll_loss(net.forward(batch.tensor(0)), batch.tensor(1)));
 *                 return ModelBytes.of(net);
 *               }
 *             });
 * }</pre>
 *
 * <p>The ranks are the tasks of a barrier stage, which run at the same time. Each stores its rows
 * in local files, and forms a group with the others. If an executor is lost, Spark repeats the
 * stage on those that are left and a new one: the ranks get the same rows again, which is checked,
 * and continue from the last checkpoint. An exception of the user's function ends the job at once,
 * and is the cause of the exception in the driver. Killed tasks and canceled jobs end their ranks,
 * also in the middle of a collective; the executors are then free for the next job.
 *
 * <p>A builder: each option may be set once. Not thread-safe; several trainings may run at the same
 * time if there are slots for all of their ranks.
 */
public final class SparkRanks {
  private static final Duration EXECUTOR_LIMIT = Duration.ofMinutes(2);
  private static final int MAX_PORT = 65_535;

  private final Dataset<Row> rows;
  private @Nullable Integer ranks;
  private @Nullable List<RowColumn> columns;
  private @Nullable RowOrder order;
  private @Nullable InvalidRows invalid;
  private @Nullable String checkpoints;
  private @Nullable Integer kept;
  private @Nullable Integer keptBest;
  private @Nullable Duration timeout;
  private @Nullable Duration executorLimit;
  private @Nullable Integer driverPort;
  private @Nullable Consumer<RankProgress> onProgress;

  private SparkRanks(Dataset<Row> rows) {
    this.rows = rows;
  }

  /**
   * Starts to describe ranks.
   *
   * @param rows their rows; each rank gets a partition
   * @return the ranks
   * @throws IllegalArgumentException if the DataFrame is one of Spark Connect, whose client is in
   *     another process than the driver
   */
  public static SparkRanks on(Dataset<Row> rows) {
    JobChecks.requireOwnSession(requireNonNull(rows, "rows"));
    return new SparkRanks(rows);
  }

  /**
   * Sets the number of ranks; by default, the number of partitions. Rows in another number of
   * partitions are distributed round-robin, and so are the rows of a {@code union} or {@code
   * coalesce} without a shuffle after it, since Spark refuses these in a barrier stage. This
   * computes the DataFrame's own shuffles twice: {@code repartition} such a DataFrame before.
   *
   * @param ranks at least 1
   * @return these ranks
   * @throws IllegalArgumentException if the number is below 1
   */
  public SparkRanks ranks(int ranks) {
    Checks.requireWorldSize(ranks);
    this.ranks = Once.set("ranks", this.ranks, ranks);
    return this;
  }

  /**
   * Sets the columns of the tensors; by default all, which must then be numbers.
   *
   * @param columns in the order of a batch's tensors, at least one
   * @return these ranks
   * @throws IllegalArgumentException if there is none
   */
  public SparkRanks columns(RowColumn... columns) {
    List<RowColumn> all =
        Checks.copyOf("columns", Arrays.asList(requireNonNull(columns, "columns")));
    if (all.isEmpty()) {
      throw new IllegalArgumentException("at least one column is needed, got none");
    }
    this.columns = Once.set("columns", this.columns, all);
    return this;
  }

  /**
   * Sets the order of the rows of a rank before a sampler shuffles them; by default {@link
   * RowOrder#BY_CONTENT}.
   *
   * @param order the order
   * @return these ranks
   */
  public SparkRanks rowOrder(RowOrder order) {
    this.order = Once.set("rowOrder", this.order, requireNonNull(order, "order"));
    return this;
  }

  /**
   * Sets the way of rows that do not fit the columns; by default {@link InvalidRows#ERROR}.
   *
   * @param way to leave them out, or not
   * @return these ranks
   */
  public SparkRanks invalidRows(InvalidRows way) {
    invalid = Once.set("invalidRows", invalid, requireNonNull(way, "way"));
    return this;
  }

  /**
   * Sets the folder of the checkpoints; by default there are none, and a repeated stage starts from
   * the beginning. A job continues from the last checkpoint in the folder, also if it is of another
   * job, provided that its ranks have the same rows.
   *
   * @param path of any file system of Hadoop's that all executors reach, for example {@code
   *     hdfs:///models/mnist}; created before the job if it is missing
   * @return these ranks
   */
  public SparkRanks checkpoints(String path) {
    checkpoints = Once.set("checkpoints", checkpoints, requireNonNull(path, "path"));
    return this;
  }

  /**
   * Sets the number of the newest checkpoints to keep; by default 3.
   *
   * @param count at least 1; 2 or more allow for a damaged one
   * @return these ranks
   * @throws IllegalArgumentException if it is below 1
   */
  public SparkRanks keptCheckpoints(int count) {
    if (count < 1) {
      throw new IllegalArgumentException("at least 1 checkpoint must be kept, got " + count);
    }
    kept = Once.set("keptCheckpoints", kept, count);
    return this;
  }

  /**
   * Sets the number of best checkpoints to keep beside the newest, if they have a metric; by
   * default 1.
   *
   * @param count at least 0
   * @return these ranks
   * @throws IllegalArgumentException if it is negative
   */
  public SparkRanks keptBestCheckpoints(int count) {
    if (count < 0) {
      throw new IllegalArgumentException(
          "the best checkpoints to keep must be at least 0, got " + count);
    }
    keptBest = Once.set("keptBestCheckpoints", keptBest, count);
    return this;
  }

  /**
   * Sets how long a rank waits for the others in an operation of the group; by default {@link
   * ProcessGroup#DEFAULT_TIMEOUT}. A rank that is lost is noticed sooner.
   *
   * @param timeout at least 1 ms
   * @return these ranks
   * @throws IllegalArgumentException if it is shorter
   */
  public SparkRanks groupTimeout(Duration timeout) {
    this.timeout =
        Once.set("groupTimeout", this.timeout, TimeLimit.atLeastOneMilli("timeout", timeout));
    return this;
  }

  /**
   * Sets how long the driver waits for executors that have not registered yet; by default 2
   * minutes.
   *
   * @param limit at least 0
   * @return these ranks
   * @throws IllegalArgumentException if it is negative
   */
  public SparkRanks executorLimit(Duration limit) {
    executorLimit = Once.set("executorLimit", executorLimit, TimeLimit.notNegative("limit", limit));
    return this;
  }

  /**
   * Sets the port at which the driver listens for its ranks while a job runs; by default any. It
   * listens at {@code spark.driver.bindAddress}, and the ranks connect to {@code
   * spark.driver.host}.
   *
   * @param port in [1, 65535]
   * @return these ranks
   * @throws IllegalArgumentException if it is out of range
   */
  public SparkRanks driverPort(int port) {
    if (port < 1 || port > MAX_PORT) {
      throw new IllegalArgumentException("port must be in [1, 65535], got " + port);
    }
    driverPort = Once.set("driverPort", driverPort, port);
    return this;
  }

  /**
   * Sets the consumer of {@link io.torchfeed.spark.RankContext#report}, which is called in the
   * driver while the job runs. If it throws, the job ends.
   *
   * @param consumer called by several threads, for each rank in the order of its reports
   * @return these ranks
   */
  public SparkRanks onProgress(Consumer<RankProgress> consumer) {
    onProgress = Once.set("onProgress", onProgress, requireNonNull(consumer, "consumer"));
    return this;
  }

  /**
   * Runs a training, and waits for it. May be called again for another one.
   *
   * @param <R> the type of the results
   * @param task the work of each rank
   * @return the results, in the order of the ranks
   * @throws SparkRanksException if the ranks cannot be started, a rank fails, the job is canceled
   *     or this thread interrupted, or Spark gives up
   * @throws IllegalArgumentException if the task, or a variable in it, is not serializable, or the
   *     DataFrame has no partitions
   */
  public <R extends Serializable> List<R> train(RankTask<R> task) {
    requireNonNull(task, "task");
    SparkContext spark = rows.sparkSession().sparkContext();
    JobChecks.requireFixedExecutors(spark.conf());
    RowEncoder encoder =
        RowEncoder.of(rows.schema(), columns == null ? List.of() : columns)
            .withInvalid(invalid == null ? InvalidRows.ERROR : invalid);
    requireSerializable("task", task);
    RDD<InternalRow> partitions = InternalRows.of(rows, ranks);
    if (partitions.getNumPartitions() == 0) {
      throw new IllegalArgumentException(
          "the DataFrame must have a partition for each rank, got one without partitions");
    }
    requireSlots(spark, partitions.getNumPartitions());
    if (checkpoints != null) {
      JobChecks.requireFolder(checkpoints, spark.hadoopConfiguration());
    }
    String name = HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
    RankJob job = new RankJob(spark, name, onProgress == null ? progress -> {} : onProgress);
    try (DriverLink link =
        DriverLink.listen(spark.conf(), driverPort == null ? 0 : driverPort, job)) {
      JobSettings settings =
          new JobSettings(
              name,
              encoder,
              order == null ? RowOrder.BY_CONTENT : order,
              timeout == null ? ProcessGroup.DEFAULT_TIMEOUT : timeout,
              link.address(),
              checkpoints,
              kept == null ? 3 : kept,
              keptBest == null ? 1 : keptBest,
              new SerializableConfiguration(spark.hadoopConfiguration()));
      return job.run(partitions, new BarrierRank<>(settings, task));
    }
  }

  /**
   * Applies a trained model to the rows of a DataFrame, in batches, on the executors. It needs no
   * barrier stage: Spark repeats the tasks that are lost.
   *
   * @param rows the rows, of a session in the driver's JVM
   * @param model the model
   * @return the rows with the model's output as another column; computed when it is used
   * @throws SparkRanksException if the rows lack an input of the model, or it is of a type that
   *     does not fit, or they have a column of the output's name already, or a batch has a column
   *     of 2^31 bytes
   * @throws IllegalArgumentException if the model's factory is not serializable, or the DataFrame
   *     is one of Spark Connect
   */
  public static Dataset<Row> transform(Dataset<Row> rows, RankModel model) {
    JobChecks.requireOwnSession(requireNonNull(rows, "rows"));
    requireNonNull(model, "model");
    StructType schema = rows.schema();
    RowEncoder encoder = RowEncoder.of(schema, model.inputs()).withInvalid(model.invalidRows());
    StructType extended = ModelSchema.extended(schema, model.output(), model.invalidRows());
    ModelSchema.requireBuffers(model);
    requireSerializable("model", model);
    return rows.sparkSession()
        .createDataFrame(
            rows.javaRDD().mapPartitions(part -> ModelRows.open(part, schema, model, encoder)),
            extended);
  }

  private static void requireSerializable(String name, Serializable value) {
    try {
      SerializedValue.of(value);
    } catch (IOException e) {
      throw new IllegalArgumentException(
          ("%s must be serializable with all of its variables, got %s;"
                  + " make such objects in it, on the executor")
              .formatted(name, e),
          e);
    }
  }

  private void requireSlots(SparkContext spark, int ranks) {
    try {
      JobChecks.requireSlots(spark, ranks, executorLimit == null ? EXECUTOR_LIMIT : executorLimit);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new SparkRanksException(
          Problem.CANCELED, "the thread of the training was interrupted", e);
    }
  }
}
