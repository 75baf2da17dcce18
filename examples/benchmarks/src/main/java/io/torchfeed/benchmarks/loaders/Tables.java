// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.CsvFile;
import io.torchfeed.table.CategoryColumn;
import io.torchfeed.table.FittedColumns;
import io.torchfeed.table.NumberColumn;
import io.torchfeed.table.TableColumns;
import io.torchfeed.table.TableRows;
import io.torchfeed.table.TableTensor;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;

/**
 * A CSV file from its text to tensors, by torchfeed and by {@code peers/tables.py}, in turns.
 * Arguments: a folder for the file, the rounds, the rows and, unless empty, an interpreter of
 * Python.
 */
public final class Tables {
  private static final List<String> WORDS = List.of("red", "green", "blue", "grey");
  private static final String[] NUMBERS =
      IntStream.range(0, 12).mapToObj(i -> "n" + i).toArray(String[]::new);
  private static final TableColumns COLUMNS =
      TableColumns.of(
          TableTensor.features(
              "x",
              NumberColumn.of(NUMBERS).withMissingMean().withStandardization(),
              CategoryColumn.of("c")),
          TableTensor.categories("y", CategoryColumn.of("y")));

  private static final double TOLERANCE = 1e-6;

  /** One pass over the file. */
  @FunctionalInterface
  private interface Form {
    /** Returns the seconds of reading and of all, and the sum of the features' magnitudes. */
    double[] pass() throws Exception;
  }

  private Tables() {}

  /** Prints a line for each form. */
  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]);
    int rounds = Integer.parseInt(args[1]);
    Path file = folder.resolve("table.csv");
    write(file, Integer.parseInt(args[2]));
    Map<String, Form> forms = new LinkedHashMap<>();
    List<PeerProcess> peers = new ArrayList<>();
    try {
      forms.put("torchfeed", () -> pass(file));
      for (String reader : args[3].isEmpty() ? List.<String>of() : List.of("pandas", "pyarrow")) {
        try {
          List<String> command = List.of(args[3], "peers/tables.py", reader, file.toString());
          PeerProcess peer = new PeerProcess(command, Map.of(), folder.resolve(reader + ".log"));
          peers.add(peer);
          forms.put(reader + " and scikit-learn", () -> peer.ask("again"));
        } catch (PeerProcess.MissingException e) {
          System.out.println(reader + ": left out, since " + e.why());
        }
      }
      print(rounds, forms);
    } finally {
      peers.forEach(PeerProcess::close);
    }
  }

  private static void write(Path file, int rows) throws IOException {
    SplittableRandom random = new SplittableRandom(1);
    try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file))) {
      out.print(String.join(",", NUMBERS) + ",c,y\n");
      for (int row = 0; row < rows; row++) {
        for (int i = 0; i < NUMBERS.length; i++) {
          out.print(
              random.nextInt(20) == 0
                  ? ","
                  : String.format(Locale.ROOT, "%.5f,", random.nextDouble(-3, 3)));
        }
        out.print(WORDS.get(random.nextInt(WORDS.size())));
        out.print(random.nextBoolean() ? ",yes\n" : ",no\n");
      }
    }
  }

  private static double[] pass(Path file) {
    long start = System.nanoTime();
    TableRows rows = CsvFile.of(file).read(COLUMNS);
    long middle = System.nanoTime();
    FittedColumns fitted = rows.fit();
    try (TensorDataset data = rows.dataset(fitted)) {
      long end = System.nanoTime();
      return new double[] {(middle - start) / 1e9, (end - start) / 1e9, sum(data)};
    }
  }

  private static double sum(TensorDataset data) {
    Sums sums = new Sums();
    try (DataLoader loader = DataLoader.over(data).batchSize(1 << 12).build();
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        try (Tensor magnitudes = batch.tensor(0).abs()) {
          sums.take(magnitudes, null);
        }
      }
    }
    return sums.data();
  }

  private static void print(int rounds, Map<String, Form> forms) throws Exception {
    Map<String, double[][]> found = new LinkedHashMap<>();
    for (Map.Entry<String, Form> form : forms.entrySet()) {
      double[] first = form.getValue().pass();
      System.out.println(
          String.format(
              Locale.ROOT,
              "%s, first pass: %.2f s to read, %.2f s in all",
              form.getKey(),
              first[0],
              first[1]));
      found.put(form.getKey(), new double[rounds][]);
    }
    double sum = 0;
    for (int round = 0; round < rounds; round++) {
      for (Map.Entry<String, Form> form : forms.entrySet()) {
        double[] pass = form.getValue().pass();
        requireNonNull(found.get(form.getKey()))[round] = pass;
        sum = sum == 0 ? pass[2] : sum;
        if (Math.abs(pass[2] - sum) > TOLERANCE * sum) {
          throw new AssertionError(form.getKey() + " has other features");
        }
      }
    }
    found.forEach(
        (name, passes) ->
            System.out.println(
                "%s: %s s to read, %s s in all"
                    .formatted(name, range(passes, 0), range(passes, 1))));
  }

  /** Returns the median and the range. */
  private static String range(double[][] passes, int place) {
    double[] sorted = Arrays.stream(passes).mapToDouble(pass -> pass[place]).sorted().toArray();
    return Arrays.stream(new int[] {sorted.length / 2, 0, sorted.length - 1})
        .mapToObj(i -> String.format(Locale.ROOT, "%.2f", sorted[i]))
        .collect(Collectors.collectingAndThen(Collectors.toList(), Tables::described));
  }

  private static String described(List<String> three) {
    return "%s (%s to %s)".formatted(three.get(0), three.get(1), three.get(2));
  }
}
