// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import static java.util.Objects.requireNonNull;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.Commands;
import io.torchfeed.spark.SparkRanksException;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command line: writes ratings as Parquet, trains on them, and compares with Spark's ALS. */
@Command(
    name = "ratings",
    description = {
      "Factorizes ratings of movies on the executors of Spark.",
      "The ratings are generated with a known number of factors, or read from a file of MovieLens;"
          + " a tenth of them is kept for the test. Prints the root mean square error on those, of"
          + " torchfeed's model and of Spark's own ALS, and the seconds that each took."
    },
    footer = {
      "",
      "Example: ratings --users 2000 --movies 1000 --epochs 20",
      "Exit status: 0 trained, 1 failed, 2 options that cannot be used."
    })
public final class Ratings implements Callable<Integer> {
  private static final double TEST_SHARE = 0.1;
  private static final long SPLIT_SEED = 42;
  private static final double NANOS_PER_SECOND = 1e9;

  private @Spec @Nullable CommandSpec spec;
  private @Mixin JobOptions job = new JobOptions();

  @Option(
      names = "--data",
      paramLabel = "FILE",
      description = "MovieLens's ratings.csv or u.data, of any file system; by default generated.")
  private String data = "";

  @Option(
      names = "--users",
      paramLabel = "N",
      description = "Users to generate (default: ${DEFAULT-VALUE}).")
  private int users = 2000;

  @Option(
      names = "--movies",
      paramLabel = "N",
      description = "Movies to generate (default: ${DEFAULT-VALUE}).")
  private int movies = 1000;

  @Option(
      names = "--share",
      paramLabel = "X",
      description = "Share of the pairs that have a rating (default: ${DEFAULT-VALUE}).")
  private double share = 0.1;

  @Option(
      names = "--factors",
      paramLabel = "N",
      description = "Factors of both models (default: ${DEFAULT-VALUE}).")
  private int factors = 8;

  @Option(
      names = "--epochs",
      paramLabel = "N",
      description = "Passes over the ratings (default: ${DEFAULT-VALUE}).")
  private int epochs = 20;

  @Option(
      names = "--batch-size",
      paramLabel = "N",
      description = "Ratings of a step on each rank (default: ${DEFAULT-VALUE}).")
  private int batchSize = 512;

  @Option(
      names = "--rate",
      paramLabel = "X",
      description = "Learning rate of Adam (default: ${DEFAULT-VALUE}).")
  private double rate = 0.01;

  @Option(
      names = "--regularization",
      paramLabel = "X",
      description = "Factor of the squares of factors and biases (default: ${DEFAULT-VALUE}).")
  private double regularization = 0.02;

  private Ratings() {}

  /**
   * Runs the command.
   *
   * @param args see {@code --help}
   */
  public static void main(String... args) {
    int status = line().execute(args);
    if (status != 0) { // else spark-submit would take the end of the driver for a failure
      System.exit(status);
    }
  }

  static CommandLine line() {
    return Commands.of(
        new Ratings(), List.of(IllegalArgumentException.class), List.of(SparkRanksException.class));
  }

  @Override
  public Integer call() throws IOException {
    if (factors < 1 || !job.hasRanks() || epochs < 1 || users < 1 || movies < 1 || !(share > 0)) {
      throw CommandException.wrongUse("numbers must be above 0");
    }
    job.run(this::compare);
    return CommandLine.ExitCode.OK;
  }

  private void compare(SparkSession spark, String files) {
    Dataset<Row> all =
        data.isEmpty()
            ? RatingsData.generated(spark, users, movies, share)
            : RatingsData.movieLens(spark, data);
    List<Dataset<Row>> parts =
        List.of(all.randomSplit(new double[] {1 - TEST_SHARE, TEST_SHARE}, SPLIT_SEED));
    Dataset<Row> train = Sparks.stored(spark, parts.get(0), files + "/train.parquet");
    Dataset<Row> test = Sparks.stored(spark, parts.get(1), files + "/test.parquet");
    spark.sparkContext().setCheckpointDir(files + "/als");
    PrintWriter out = out();
    out.printf("ratings to train on: %d, to test on: %d%n", train.count(), test.count());

    long start = System.nanoTime();
    Dataset<Row> known = Rmse.als(train, test, factors).cache();
    double ofAls = Rmse.of(known, "als");
    out.printf(Locale.ROOT, "als        rmse %.4f  %6.1f s%n", ofAls, secondsSince(start));

    start = System.nanoTime();
    RatingsTask task =
        new RatingsTask(RatingsData.shape(all, factors), epochs, batchSize, rate, regularization);
    List<byte[]> models = job.train(train, RatingsTask.columns(), task, out);
    double own = Rmse.of(task, models.get(0), known);
    out.printf(Locale.ROOT, "torchfeed  rmse %.4f  %6.1f s%n", own, secondsSince(start));
    out.printf(Locale.ROOT, "error of torchfeed / error of ALS: %.4f%n", own / ofAls);
    out.flush();
  }

  private static double secondsSince(long start) {
    return (System.nanoTime() - start) / NANOS_PER_SECOND;
  }

  private PrintWriter out() {
    return requireNonNull(spec).commandLine().getOut();
  }
}
