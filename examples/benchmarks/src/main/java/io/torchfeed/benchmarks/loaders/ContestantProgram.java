// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.pytorch.global.torch;

/**
 * The process of one contestant. Prints {@code ready}, then answers a line each of standard input:
 *
 * <ul>
 *   <li>{@code check VARIANT WORKERS 0 EPOCH} loads an epoch: {@code ROWS LABELS DATA}, the sums
 *       over its labels and over all other elements.
 *   <li>{@code run VARIANT WORKERS MILLISECONDS EPOCH} loads epochs, from that one on, until the
 *       time is over, at least one: {@code ROWS BATCHES NANOSECONDS HEAP}, the last being the bytes
 *       that all threads allocated in the Java heap, or -1 where there is none. A sixth word, here
 *       only, is for how many nanoseconds the consumer is busy with each batch.
 * </ul>
 *
 * <p>The loaders stay open from a request to the next. Where something is missing {@code missing}
 * and what comes instead of {@code ready}. The peers in other languages do the same.
 */
final class ContestantProgram {
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
    long epoch = Long.parseLong(request[4]);
    Contestant contestant = contestants.get(workers);
    if (contestant == null) {
      contestant = open(variant, data, workers);
      contestants.put(workers, contestant);
    }
    if ("check".equals(request[0])) {
      Sums sums = new Sums();
      long rows = contestant.epoch(epoch, sums);
      return rows + " " + sums.labels() + " " + sums.data();
    }
    BatchSink sink =
        request.length > 5 ? BatchSink.busy(Long.parseLong(request[5])) : BatchSink.none();
    return run(contestant, Long.parseLong(request[3]) * 1_000_000, epoch, sink);
  }

  private String run(Contestant contestant, long atLeast, long from, BatchSink sink)
      throws Exception {
    long heapBefore = allocated();
    long start = System.nanoTime();
    long nanos;
    long rows = 0;
    long epoch = from;
    do {
      rows += contestant.epoch(epoch++, sink);
      nanos = System.nanoTime() - start;
    } while (nanos < atLeast);
    long batches = (epoch - from) * data.row().batches();
    return rows + " " + batches + " " + nanos + " " + (allocated() - heapBefore);
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
