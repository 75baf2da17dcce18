// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import io.torchfeed.benchmarks.PageCache;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.global.torch;

/**
 * The process of one contestant. It prints {@code ready}, then answers each line of standard input
 * with one line:
 *
 * <ul>
 *   <li>{@code check VARIANT WORKERS 0 EPOCH} loads an epoch and answers {@code ROWS LABELS DATA}:
 *       its number of rows, and the sums of its labels and of all other elements.
 *   <li>{@code run VARIANT WORKERS MILLISECONDS EPOCH} loads epochs, starting with the given one,
 *       until the time is over, at least one, and answers {@code ROWS BATCHES NANOSECONDS HEAP};
 *       the last is the number of bytes that all threads allocated in the Java heap, or -1 if there
 *       is none.
 * </ul>
 *
 * <p>A {@code VARIANT} that ends with {@code -2-threads} selects two threads per libtorch
 * operation; any other selects one.
 *
 * <p>Only this program answers the following requests, for differences smaller than the drift of a
 * machine from one visit to the next:
 *
 * <ul>
 *   <li>{@code turns VARIANT WORKERS MILLISECONDS EPOCH} loads epochs with each number of workers
 *       from none to the given one, in turn, at least three of each, and answers the median
 *       nanoseconds per epoch for each.
 *   <li>{@code step VARIANT WORKERS MILLISECONDS EPOCH NANOSECONDS} loads epochs for an idle
 *       consumer, loads them for a consumer that is busy for the given time with each batch, and
 *       keeps that consumer busy without loading, in turn, at least three of each, and answers the
 *       median nanoseconds per batch of each.
 * </ul>
 *
 * <p>The loaders stay open between requests. If something is missing, the program prints {@code
 * missing} and the reason instead of {@code ready}. The peers in other languages do the same.
 */
final class ContestantProgram {
  /** The minimum number of epochs for a meaningful median. */
  private static final int MIN_EPOCHS = 3;

  private final RowData data;
  private final String variant;
  private final Map<Integer, Contestant> contestants = new TreeMap<>();

  private ContestantProgram(RowData data, String variant) {
    this.data = data;
    this.variant = variant;
  }

  /**
   * Runs until standard input ends.
   *
   * @param args the row, the folder of its files, and the variant
   */
  public static void main(String[] args) throws Exception {
    RowData data = new RowData(Row.valueOf(args[0]), Path.of(args[1]));
    ContestantProgram program = new ContestantProgram(data, args[2]);
    PrintStream out = System.out;
    out.println("ready");
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.println(program.answer(line.split(" ", -1)));
    }
    program.close();
  }

  /** Opens the contestant of this JVM with the given name. */
  static Contestant open(String variant, RowData data, int workers) throws IOException {
    return switch (variant) {
      case "native" -> TorchfeedLoading.nativeEngine(data, workers);
      case "java" -> TorchfeedLoading.javaEngine(data, workers);
      case "plain" -> new PlainJava(data, workers);
      case "presets" -> PresetLoading.perSample(data, workers);
      case "presets-batch" -> PresetLoading.wholeBatch(data, workers);
      case "pread" -> new ReadLoop(data);
      default -> throw new IllegalArgumentException("no variant " + variant);
    };
  }

  private String answer(String... request) throws Exception {
    torch.set_num_threads(Setting.operationThreads(request[1]));
    int workers = Integer.parseInt(request[2]);
    long atLeast = Long.parseLong(request[3]) * 1_000_000;
    long epoch = Long.parseLong(request[4]);
    return switch (request[0]) {
      case "check" -> check(contestant(workers), epoch);
      case "run" -> run(contestant(workers), atLeast, epoch);
      case "turns" -> turns(workers, atLeast, epoch);
      case "step" -> step(contestant(workers), atLeast, epoch, Long.parseLong(request[5]));
      default -> throw new IllegalArgumentException("no request " + request[0]);
    };
  }

  private Contestant contestant(int workers) throws IOException {
    Contestant contestant = contestants.get(workers);
    if (contestant == null) {
      contestant = open(variant, data, workers);
      contestants.put(workers, contestant);
    }
    return contestant;
  }

  private static String check(Contestant contestant, long epoch) throws Exception {
    Sums sums = new Sums();
    long rows = contestant.epoch(epoch, sums);
    return rows + " " + sums.labels() + " " + sums.data();
  }

  private String run(Contestant contestant, long atLeast, long from) throws Exception {
    long heapBefore = allocated();
    long start = System.nanoTime();
    long nanos;
    long rows = 0;
    long epoch = from;
    do {
      rows += contestant.epoch(epoch++, BatchSink.none());
      nanos = System.nanoTime() - start;
    } while (nanos < atLeast);
    long batches = (epoch - from) * data.row().batches();
    return rows + " " + batches + " " + nanos + " " + (allocated() - heapBefore);
  }

  private String turns(int mostWorkers, long atLeast, long from) throws Exception {
    List<Contestant> inTurn = new ArrayList<>();
    List<Series> nanos = new ArrayList<>();
    for (int workers = 0; workers <= mostWorkers; workers++) {
      inTurn.add(contestant(workers));
      nanos.add(new Series());
    }
    long end = System.nanoTime() + atLeast;
    long epoch = from;
    do {
      for (int i = 0; i < inTurn.size(); i++) {
        nanos.get(i).add(nanos(inTurn.get(i), epoch, BatchSink.none()));
      }
      epoch++;
    } while (System.nanoTime() < end || epoch < from + MIN_EPOCHS);
    return nanos.stream()
        .map(each -> Double.toString(each.median()))
        .collect(Collectors.joining(" "));
  }

  private String step(Contestant contestant, long atLeast, long from, long busyNanos)
      throws Exception {
    Series idle = new Series();
    Series busy = new Series();
    Series alone = new Series();
    long end = System.nanoTime() + atLeast;
    long epoch = from;
    do {
      idle.add(nanos(contestant, epoch, BatchSink.none()));
      busy.add(nanos(contestant, epoch, (rows, labels) -> beBusy(busyNanos)));
      alone.add(nanosAlone(busyNanos));
      epoch++;
    } while (System.nanoTime() < end || epoch < from + MIN_EPOCHS);
    double batches = data.row().batches();
    return idle.median() / batches + " " + busy.median() / batches + " " + alone.median() / batches;
  }

  /** Keeps the processor busy, as a training step does. */
  private static void beBusy(long nanos) {
    long start = System.nanoTime();
    long now = start;
    while (now - start < nanos) {
      now = System.nanoTime();
    }
  }

  /**
   * Returns the nanoseconds of an epoch's work without loading; longer if the host takes the core.
   */
  private long nanosAlone(long busyNanos) {
    long start = System.nanoTime();
    for (long batch = 0; batch < data.row().batches(); batch++) {
      beBusy(busyNanos);
    }
    return System.nanoTime() - start;
  }

  /** Returns the nanoseconds of an epoch. */
  private long nanos(Contestant contestant, long epoch, BatchSink sink) throws Exception {
    if (data.row().isCold()) {
      PageCache.drop(data.file());
    }
    long start = System.nanoTime();
    contestant.epoch(epoch, sink);
    return System.nanoTime() - start;
  }

  /** A series of values, summarised by their median. */
  private static final class Series {
    private final LongStream.Builder values = LongStream.builder();

    void add(long value) {
      values.add(value);
    }

    double median() {
      return Spread.of(values.build().asDoubleStream().toArray()).median();
    }
  }

  /** Returns the bytes that all live threads have allocated; the loaders' threads stay alive. */
  private static long allocated() {
    if (!(ManagementFactory.getThreadMXBean() instanceof com.sun.management.ThreadMXBean threads)) {
      return 0;
    }
    long bytes = 0;
    for (long each : threads.getThreadAllocatedBytes(threads.getAllThreadIds())) {
      bytes += Math.max(0, each);
    }
    return bytes;
  }

  private void close() throws IOException {
    for (Contestant contestant : contestants.values()) {
      contestant.close();
    }
  }
}
