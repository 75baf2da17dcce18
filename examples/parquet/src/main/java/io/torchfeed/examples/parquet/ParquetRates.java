// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.parquet;

import dev.hardwood.HardwoodContext;
import dev.hardwood.InputFile;
import dev.hardwood.reader.ColumnReaders;
import dev.hardwood.reader.ParquetFileReader;
import dev.hardwood.schema.ColumnProjection;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.FileColumn;
import io.torchfeed.data.source.FileDataset;
import io.torchfeed.memory.DType;
import io.torchfeed.parquet.ParquetColumn;
import io.torchfeed.parquet.ParquetFiles;
import io.torchfeed.parquet.ParquetRows;
import io.torchfeed.parquet.ParquetStream;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.Pointer;

/**
 * {@code ParquetRates FOLDER ROUNDS [PYTHON]} prints the rows per second of several ways to read
 * the files of {@code rates.py} as batches, in turns: the median, the least and the greatest. After
 * each turn of all ways it prints the memory of the process.
 */
final class ParquetRates {
  private static final int BATCH = 1024;
  private static final int THREADS = 2;
  private static final int WINDOW = 1 << 14;
  private static final int FLOATS = 14;
  private static final int SHUFFLED = 100_000; // rows; a row in random order takes longer
  private static final double MILLION = 1e6;

  private final Path folder;
  private final Map<String, List<Double>> rates = new LinkedHashMap<>();

  private ParquetRates(Path folder) {
    this.folder = folder;
  }

  /** Reads all rows. */
  private interface Way {
    long rows() throws Exception;
  }

  public static void main(String[] args) throws Exception {
    ParquetRates rates = new ParquetRates(Path.of(args[0]));
    rates.run(Integer.parseInt(args[1]), args.length > 2 ? List.of(args[2]) : List.of());
  }

  private void run(int rounds, List<String> python) throws Exception {
    ParquetRows rows =
        ParquetFiles.of(folder.resolve("rows.parquet")).rows(columns()).withThreads(THREADS);
    ParquetStream stream = rows.stream(THREADS);
    List<Process> peers = peers(python);
    try (FileDataset stored = rows.store(folder.resolve("stored")).dataset();
        FileDataset numpy = numpy();
        DataLoader inOrder = loader(stream);
        DataLoader oneShard = loader(rows.stream(1));
        DataLoader shuffled = loader(stream.shuffled(WINDOW, 1));
        NativeDataset someStored = stored.subset(LongStream.range(0, SHUFFLED).toArray());
        NativeDataset someOfNumpy = numpy.subset(LongStream.range(0, SHUFFLED).toArray());
        DataLoader storedInOrder =
            DataLoader.over(stored).batchSize(BATCH).workers(THREADS).build();
        DataLoader ofStored = loader(someStored);
        DataLoader ofNumpy = loader(someOfNumpy)) {
      for (int round = 0; round <= rounds; round++) { // the first one warms up
        int epoch = round;
        measure("Hardwood's columnar reader alone", round, this::hardwood);
        measure("stream in order", round, () -> count(inOrder.epoch(epoch)));
        measure("stream in order, 1 shard", round, () -> count(oneShard.epoch(epoch)));
        measure("stream, shuffled in windows", round, () -> count(shuffled.epoch(epoch)));
        measure("stored rows in order", round, () -> count(storedInOrder.epoch(epoch)));
        measure("stored rows, shuffled", round, () -> count(ofStored.epoch(epoch)));
        measure("FileDataset of NumPy's files, shuffled", round, () -> count(ofNumpy.epoch(epoch)));
        for (Process peer : peers) {
          ask(peer, round);
        }
        printMemory(round);
      }
    } finally {
      peers.forEach(Process::destroy);
    }
    print();
  }

  private List<Process> peers(List<String> python) throws IOException {
    List<Process> peers = new ArrayList<>();
    for (String interpreter : python) {
      ProcessBuilder peer =
          new ProcessBuilder(interpreter, "examples/parquet/rates.py", "read", folder.toString());
      peers.add(peer.redirectError(ProcessBuilder.Redirect.INHERIT).start());
    }
    return peers;
  }

  /** Prints the memory of this process after an epoch of each way. */
  private static void printMemory(int round) throws IOException {
    System.gc();
    Runtime heap = Runtime.getRuntime();
    String resident =
        Files.readAllLines(Path.of("/proc/self/status")).stream()
            .filter(line -> line.startsWith("VmRSS"))
            .map(line -> line.replaceAll("\\D", ""))
            .findFirst()
            .orElse("0");
    System.out.printf(
        Locale.ROOT,
        "after round %d: heap %d MB, resident %d MB, %d native objects%n",
        round,
        (heap.totalMemory() - heap.freeMemory()) >> 20,
        Long.parseLong(resident) >> 10,
        Pointer.totalCount());
  }

  private static ParquetColumn[] columns() {
    List<ParquetColumn> columns = new ArrayList<>();
    columns.add(ParquetColumn.of("user", DType.INT64));
    columns.add(ParquetColumn.of("item", DType.INT64));
    for (int i = 0; i < FLOATS; i++) {
      columns.add(ParquetColumn.of("f" + i, DType.FLOAT32));
    }
    return columns.toArray(ParquetColumn[]::new);
  }

  private FileDataset numpy() {
    List<FileColumn> files = new ArrayList<>();
    for (ParquetColumn column : columns()) {
      files.add(FileColumn.npy(folder.resolve(column.path() + ".npy")));
    }
    return FileDataset.of(files.toArray(FileColumn[]::new));
  }

  private static DataLoader loader(ParquetStream stream) {
    return DataLoader.over(stream).batchSize(BATCH).workers(THREADS).build();
  }

  private static DataLoader loader(NativeDataset data) {
    return DataLoader.over(data)
        .sampler(ShuffledSampler.of(data.size(), 1))
        .batchSize(BATCH)
        .workers(THREADS)
        .build();
  }

  private static long count(Batches batches) {
    long rows = 0;
    try (batches) {
      for (Batch batch : batches) {
        rows += batch.size();
      }
    }
    return rows;
  }

  /** Decodes all columns, and looks at one value of each batch. */
  private long hardwood() throws IOException {
    long rows = 0;
    double sum = 0;
    try (HardwoodContext context = HardwoodContext.create(THREADS);
        ParquetFileReader reader =
            ParquetFileReader.open(InputFile.of(folder.resolve("rows.parquet")), context);
        ColumnReaders columns = reader.columnReaders(ColumnProjection.all())) {
      while (columns.nextBatch()) {
        rows += columns.getRecordCount();
        for (int i = 0; i < columns.getColumnCount(); i++) {
          if (i < 2) {
            sum += (double) columns.getColumnReader(i).getLongs()[0];
          } else {
            sum += columns.getColumnReader(i).getFloats()[0];
          }
        }
      }
    }
    return sum < 0 ? 0 : rows;
  }

  private void measure(String name, int round, Way way) throws Exception {
    long start = System.nanoTime();
    long rows = way.rows();
    note(name, round, rows * 1e9 / (System.nanoTime() - start));
  }

  private void ask(Process peer, int round) throws IOException {
    peer.getOutputStream().write('\n');
    peer.getOutputStream().flush();
    BufferedReader lines = peer.inputReader(StandardCharsets.UTF_8);
    for (String line = lines.readLine(); line != null && !line.isEmpty(); line = lines.readLine()) {
      int tab = line.indexOf('\t');
      note(line.substring(0, tab), round, Double.parseDouble(line.substring(tab + 1)));
    }
  }

  private void note(String name, int round, double rate) {
    if (round > 0) {
      rates.computeIfAbsent(name, key -> new ArrayList<>()).add(rate / MILLION);
    }
  }

  private void print() {
    rates.forEach(
        (name, all) -> {
          List<Double> sorted = all.stream().sorted().toList();
          System.out.printf(
              Locale.ROOT,
              "%-40s %6.2f M rows/s (%.2f to %.2f)%n",
              name,
              sorted.get(sorted.size() / 2),
              sorted.get(0),
              sorted.get(sorted.size() - 1));
        });
  }
}
