// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import static java.util.Objects.requireNonNull;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.Commands;
import io.torchfeed.examples.common.mnist.MnistFolder;
import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.job.SparkRanks;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command line: writes MNIST as Parquet, trains on it, and applies the model to the test. */
@Command(
    name = "mnist",
    description = {
      "Trains the net of examples/mnist-ddp on the executors of Spark.",
      "MNIST is read from the user's cache, or fetched into it, and written as Parquet: the bytes of"
          + " an image and its label in each row. Prints the loss and the seconds of each epoch, and"
          + " the share of the test images that the trained model recognizes."
    },
    footer = {
      "",
      "Example: mnist --ranks 2 --epochs 3",
      "Exit status: 0 trained, 1 failed, 2 options that cannot be used."
    })
public final class Mnist implements Callable<Integer> {
  private @Spec @Nullable CommandSpec spec;
  private @Mixin JobOptions job = new JobOptions();

  @Option(
      names = "--data",
      paramLabel = "DIR",
      description =
          "Folder with the four idx files, uncompressed, on the driver's machine; by default the"
              + " user's cache.")
  private @Nullable Path data;

  @Option(
      names = "--images",
      paramLabel = "N",
      description = "Images to train on, at most (default: ${DEFAULT-VALUE}).")
  private int images = 60_000;

  @Option(
      names = "--epochs",
      paramLabel = "N",
      description = "Passes over the images (default: ${DEFAULT-VALUE}).")
  private int epochs = 3;

  @Option(
      names = "--batch-size",
      paramLabel = "N",
      description = "Images of a step on each rank (default: ${DEFAULT-VALUE}).")
  private int batchSize = 64;

  @Option(
      names = "--lr",
      paramLabel = "X",
      description = "Learning rate of SGD (default: ${DEFAULT-VALUE}).")
  private double rate = 0.03;

  @Option(
      names = "--momentum",
      paramLabel = "X",
      description = "Momentum of SGD (default: ${DEFAULT-VALUE}).")
  private double momentum = 0.9;

  @Option(
      names = "--seed",
      paramLabel = "N",
      description = "Fixes the parameters, the order and dropout (default: ${DEFAULT-VALUE}).")
  private long seed;

  private Mnist() {}

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
        new Mnist(), List.of(IllegalArgumentException.class), List.of(SparkRanksException.class));
  }

  @Override
  public Integer call() throws IOException {
    if (images < 1 || !job.hasRanks() || epochs < 1 || batchSize < 1 || !(rate > 0)) {
      throw CommandException.wrongUse("numbers must be above 0");
    }
    Path idx = MnistFolder.ofUser(System.err::println).locate(data);
    job.run(
        (spark, files) ->
            train(
                MnistRows.stored(
                    spark, MnistRows.read(idx, "train", images), files + "/train.parquet"),
                MnistRows.stored(
                    spark,
                    MnistRows.read(idx, "t10k", Integer.MAX_VALUE),
                    files + "/test.parquet")));
    return CommandLine.ExitCode.OK;
  }

  private void train(Dataset<Row> train, Dataset<Row> test) {
    MnistTask task = new MnistTask(epochs, batchSize, rate, momentum, seed);
    List<byte[]> models = job.train(train, MnistTask.columns(), task, out());
    out().printf(Locale.ROOT, "test accuracy: %.2f %%%n", 100 * accuracy(models.get(0), test));
    out().flush();
  }

  static double accuracy(byte[] trained, Dataset<Row> test) {
    return SparkRanks.transform(test, MnistTask.model(trained))
        .agg(
            functions.avg(
                functions.col(MnistRows.DIGIT).equalTo(functions.col(MnistRows.LABEL)).cast("int")))
        .first()
        .getDouble(0);
  }

  private PrintWriter out() {
    return requireNonNull(spec).commandLine().getOut();
  }
}
