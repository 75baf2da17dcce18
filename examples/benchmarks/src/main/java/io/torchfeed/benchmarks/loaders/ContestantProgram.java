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
 * The process of one contestant. Prints {@code ready}, then answers a line each of standard input:
 *
 * <ul>
 *   <li>{@code check VARIANT WORKERS 0 EPOCH} loads an epoch: {@code ROWS LABELS DATA}, the sums
 *       over its labels and over all other elements.
 *   <li>{@code run VARIANT WORKERS MILLISECONDS EPOCH} loads epochs, from that one on, until the
 *       time is over, at least one: {@code ROWS BATCHES NANOSECONDS HEAP}, the last being the bytes
 *       that all threads allocated in the Java heap, or -1 where there is none.
 * </ul>
 *
 * <p>Here only, for what differs by less than a machine drifts from one visit to the next:
 *
 * <ul>
 *   <li>{@code turns VARIANT WORKERS MILLISECONDS EPOCH} loads epochs without workers, with one and
 *       so on up to that many, in turn, at least three of each: the median nanoseconds of an epoch
 *       with each.
 *   <li>{@code step VARIANT WORKERS MILLISECONDS EPOCH NANOSECONDS} loads epochs for an idle
 *       consumer, loads them for one that is busy for so long with each batch, and lets that one be
 *       busy without loading, in turn, at least three of each: the median nanoseconds a batch of
 *       each.
 * </ul>
 *
 * <p>The loaders stay open from a request to the next. Where something is missing {@code missing}
 * and what comes instead of {@code ready}. The peers in other languages do the same.
 */
final class ContestantProgram {
  /** Of which the middle one is no accident. */
  private static final int LEAST_EPOCHS = 3;

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
   * @param args row, folder of its files, variant
   */
  public static void main(String[] args) throws Exception {
    torch.set_num_threads(1);
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

  /** Opens a contestant of this JVM by its name. */
  static Contestant open(String variant, RowData data, int workers) throws IOException {
    return switch (variant) {
      case "native" -> TorchfeedLoading.nativeEngine(data, workers);
      case "java" -> TorchfeedLoading.javaEngine(data, workers);
      case "plain" -> new PlainJava(data, workers);
      case "presets" -> new PresetLoading(data, workers);
      case "pread" -> new ReadLoop(data);
      default -> throw new IllegalArgumentException("no variant " + variant);
    };
  }

  private String answer(String... request) throws Exception {
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
    } while (System.nanoTime() < end || epoch < from + LEAST_EPOCHS);
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
    } while (System.nanoTime() < end || epoch < from + LEAST_EPOCHS);
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

  /** Nanoseconds of an epoch's work without loading: longer where the machine takes the core. */
  private long nanosAlone(long busyNanos) {
    long start = System.nanoTime();
    for (long batch = 0; batch < data.row().batches(); batch++) {
      beBusy(busyNanos);
    }
    return System.nanoTime() - start;
  }

  /** Nanoseconds of an epoch. */
  private long nanos(Contestant contestant, long epoch, BatchSink sink) throws Exception {
    if (data.row().isCold()) {
      PageCache.drop(data.file());
    }
    long start = System.nanoTime();
    contestant.epoch(epoch, sink);
    return System.nanoTime() - start;
  }

  /** Values of which the middle one counts. */
  private static final class Series {
    private final LongStream.Builder values = LongStream.builder();

    void add(long value) {
      values.add(value);
    }

    double median() {
      return Spread.of(values.build().asDoubleStream().toArray()).median();
    }
  }

  /** Bytes that the living threads have allocated; the loaders' threads live on. */
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
