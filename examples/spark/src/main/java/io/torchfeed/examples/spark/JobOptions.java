// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import io.torchfeed.spark.RankProgress;
import io.torchfeed.spark.RankTask;
import io.torchfeed.spark.RowColumn;
import io.torchfeed.spark.job.SparkRanks;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.function.BiConsumer;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import picocli.CommandLine.Option;

/** The options of every training on Spark: where it runs, and where its files are. */
final class JobOptions {
  @Option(
      names = "--master",
      paramLabel = "URL",
      description = "Spark's master, such as local[2]; by default the one of spark-submit.")
  private String master = "";

  @Option(
      names = "--ranks",
      paramLabel = "N",
      description = "Executors that train together (default: ${DEFAULT-VALUE}).")
  private int ranks = 2;

  @Option(
      names = "--checkpoints",
      paramLabel = "PATH",
      description = "Folder of checkpoints that all executors reach; by default none.")
  private String checkpoints = "";

  @Option(
      names = "--folder",
      paramLabel = "PATH",
      description =
          "Folder for the Parquet files, that all executors reach; by default a temporary one.")
  private String folder = "";

  boolean hasRanks() {
    return ranks > 0;
  }

  /**
   * Runs a command with Spark.
   *
   * @param work is given the folder of the Parquet files
   */
  void run(BiConsumer<SparkSession, String> work) throws IOException {
    Sparks.run(
        master,
        (spark, temporary) ->
            work.accept(spark, folder.isEmpty() ? temporary.toUri().toString() : folder));
  }

  /**
   * Trains, and prints the loss and the seconds of each epoch of rank 0.
   *
   * @return the models of the ranks
   */
  List<byte[]> train(
      Dataset<Row> rows, RowColumn[] columns, RankTask<byte[]> task, PrintWriter out) {
    SparkRanks job =
        SparkRanks.on(rows)
            .ranks(ranks)
            .columns(columns)
            .onProgress(progress -> print(progress, out));
    return (checkpoints.isEmpty() ? job : job.checkpoints(checkpoints)).train(task);
  }

  private static synchronized void print(RankProgress progress, PrintWriter out) {
    if (progress.rank() == 0) {
      out.printf(
          Locale.ROOT,
          "epoch %2d of rank 0: loss %.4f, %.2f s%n",
          progress.epoch(),
          progress.metrics().get("loss"),
          progress.metrics().get("seconds"));
      out.flush();
    }
  }
}
