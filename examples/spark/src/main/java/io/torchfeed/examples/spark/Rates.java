// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.spark;

import static java.util.Objects.requireNonNull;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.Commands;
import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.job.SparkRanks;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.SparkSession;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The command line: measures how fast rows are stored and loaded. */
@Command(
    name = "rates",
    description = {
      "Measures how fast a rank stores the rows of a DataFrame, beside Spark's own write of the same"
          + " rows, and how fast it loads them, beside a loader over local files.",
      "All of it runs on one core. The rows come from an uncompressed Parquet file. A job over no"
          + " rows is measured, too, and its time taken off."
    },
    footer = {"", "Example: rates --kinds images --megabytes 200"})
public final class Rates implements Callable<Integer> {
  private static final double NANOS_PER_SECOND = 1e9;
  private static final int BATCH = 256;

  private @Spec @Nullable CommandSpec spec;

  @Option(names = "--master", paramLabel = "URL", description = "Spark's master.")
  private String master = "local[1]";

  @Option(
      names = "--megabytes",
      paramLabel = "N",
      description = "Megabytes of rows of each kind (default: ${DEFAULT-VALUE}).")
  private int megabytes = 100;

  @Option(
      names = "--rounds",
      paramLabel = "N",
      description = "Measurements of each kind, whose median counts (default: ${DEFAULT-VALUE}).")
  private int rounds = 5;

  @Option(
      names = "--kinds",
      split = ",",
      paramLabel = "KIND",
      description = "Kinds of rows, of images, features and ratings; by default all.")
  private List<RateRows> kinds = List.of(RateRows.values());

  private Rates() {}

  /**
   * Runs the command.
   *
   * @param args see {@code --help}
   */
  public static void main(String... args) {
    System.exit(line().execute(args));
  }

  static CommandLine line() {
    return Commands.of(
        new Rates(), List.of(IllegalArgumentException.class), List.of(SparkRanksException.class));
  }

  @Override
  public Integer call() throws IOException {
    if (megabytes < 1 || rounds < 1) {
      throw CommandException.wrongUse("numbers must be above 0");
    }
    Sparks.run(
        master,
        (spark, folder) -> {
          spark.conf().set("spark.sql.files.maxPartitionBytes", Integer.MAX_VALUE); // one partition
          for (RateRows kind : kinds) {
            measure(spark, kind, folder);
          }
        });
    return CommandLine.ExitCode.OK;
  }

  private void measure(SparkSession spark, RateRows kind, Path folder) {
    long count = megabytes * 1_000_000L / kind.bytes();
    Dataset<Row> rows = kind.stored(spark, count, folder.resolve("rows").toUri().toString());
    Dataset<Row> none = kind.stored(spark, 0, folder.resolve("none").toUri().toString());
    PrintWriter out = out();
    out.printf(Locale.ROOT, "%s: %,d rows of %d bytes%n", kind, count, kind.bytes());
    String path = folder.resolve("written").toUri().toString();
    List<Store> stores =
        List.of(
            Store.spark("parquet", "snappy", rows, none, path),
            Store.spark("parquet", "none", rows, none, path),
            Store.spark("orc", "none", rows, none, path),
            new Store(
                "a rank",
                () -> ranks(kind, rows).train((context, stored) -> ""),
                () -> ranks(kind, none).train((context, stored) -> "")));
    double[] seconds = seconds(stores, count);
    double own = seconds[stores.size() - 1];
    double best = Arrays.stream(seconds).limit(stores.size() - 1).min().orElseThrow();
    out.printf(Locale.ROOT, "  rate of storing / best rate of Spark: %.2f%n", best / own);

    long[][] nanos = ranks(kind, rows).train(new LoadTask(rounds, BATCH)).get(0);
    double loaded = median(nanos[0]) / NANOS_PER_SECOND;
    double files = median(nanos[1]) / NANOS_PER_SECOND;
    print("loaded, once stored", count, loaded, "");
    print("loaded from local files", count, files, "");
    print("stored and loaded once", count, own + loaded, "");
    out.printf(Locale.ROOT, "  rate of loading / rate from local files: %.2f%n", files / loaded);
    out.flush();
  }

  private static SparkRanks ranks(RateRows kind, Dataset<Row> rows) {
    return SparkRanks.on(rows).ranks(1).columns(kind.columns());
  }

  /**
   * A way to store rows.
   *
   * @param name the way
   * @param all stores the rows
   * @param none does the same for no rows
   */
  private record Store(String name, Runnable all, Runnable none) {
    static Store spark(
        String format, String compression, Dataset<Row> all, Dataset<Row> none, String path) {
      return new Store(
          "Spark as %s, compression %s".formatted(format, compression),
          () -> write(all, format, compression, path),
          () -> write(none, format, compression, path));
    }

    private static void write(Dataset<Row> rows, String format, String compression, String path) {
      rows.write()
          .mode(SaveMode.Overwrite)
          .format(format)
          .option("compression", compression)
          .option("parquet.enable.dictionary", false) // random numbers have no use for it
          .save(path);
    }
  }

  /** Runs all in turn; returns the median seconds of each, without the seconds for no rows. */
  private double[] seconds(List<Store> stores, long count) {
    long[][] all = new long[stores.size()][rounds];
    long[][] none = new long[stores.size()][rounds];
    for (int round = -1; round < rounds; round++) { // the first one warms up
      for (int i = 0; i < stores.size(); i++) {
        long full = nanos(stores.get(i).all());
        long empty = nanos(stores.get(i).none());
        if (round >= 0) {
          all[i][round] = full;
          none[i][round] = empty;
        }
      }
    }
    double[] seconds = new double[stores.size()];
    for (int i = 0; i < seconds.length; i++) {
      double fixed = median(none[i]) / NANOS_PER_SECOND;
      seconds[i] = median(all[i]) / NANOS_PER_SECOND - fixed;
      print(
          "stored by " + stores.get(i).name(),
          count,
          seconds[i],
          String.format(Locale.ROOT, ", and %.2f s without rows", fixed));
    }
    return seconds;
  }

  /** Measures after a collection: garbage of other ways would be collected in this one's time. */
  private static long nanos(Runnable work) {
    System.gc();
    long start = System.nanoTime();
    work.run();
    return System.nanoTime() - start;
  }

  private static double median(long[] values) {
    long[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0;
  }

  private void print(String name, long count, double seconds, String besides) {
    out()
        .printf(
            Locale.ROOT,
            "  %-40s %8.3f s %,14.0f rows/s%s%n",
            name,
            seconds,
            count / seconds,
            besides);
    out().flush();
  }

  private PrintWriter out() {
    return requireNonNull(spec).commandLine().getOut();
  }
}
