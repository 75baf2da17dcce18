// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;

/**
 * The times and the memory of a coordinator of many ranks, which are simulated by another process:
 * {@code SILENCE_MILLIS SECONDS RANKS...}.
 */
final class CoordinatorBenchmark {
  private static final String JOB = "simulated";
  private static final int LOST_AT_MOST = 100;

  private CoordinatorBenchmark() {}

  /**
   * Measures and prints a row for each number of ranks.
   *
   * @param args the limit of silence, the seconds of training, and the numbers of ranks
   */
  public static void main(String[] args) throws Exception {
    System.out.println(
        "| ranks | all join, s | while they train: processor, % | slowest answer, ms | lost at once"
            + " | until the others have formed, s | one comes, s | all end, s | heap per rank, KB"
            + " | resident, MB | threads |");
    System.out.println("|---|---|---|---|---|---|---|---|---|---|---|");
    run(args, 10, false); // loads the classes
    for (String ranks : Arrays.asList(args).subList(2, args.length)) {
      run(args, Integer.parseInt(ranks), true);
    }
  }

  private static void run(String[] args, int ranks, boolean isPrinted) throws Exception {
    int lost = Math.min(LOST_AT_MOST, ranks / 10);
    CoordinatorOptions options =
        CoordinatorOptions.of(1, ranks)
            .withSilence(Duration.ofMillis(Long.parseLong(args[0])))
            .withStart(Duration.ofMinutes(5));
    long before = heapBytes();
    int threads = ManagementFactory.getThreadMXBean().getThreadCount();
    try (Coordinator coordinator = Coordinator.listen("127.0.0.1", 0, options.withJob(JOB))) {
      Process process =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "-Xmx512m",
                  "-XX:+UseSerialGC",
                  "-cp",
                  System.getProperty("java.class.path"),
                  SimulatedRanks.class.getName(),
                  String.valueOf(coordinator.port()),
                  JOB,
                  String.valueOf(ranks),
                  String.valueOf(lost),
                  args[1])
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      try (BufferedReader said = process.inputReader(StandardCharsets.UTF_8);
          OutputStream go = process.getOutputStream()) {
        double joined = seconds(said, "joined");
        int added = ManagementFactory.getThreadMXBean().getThreadCount() - threads;
        long heap = heapBytes() - before;
        long cpu = processorNanos();
        goOn(go);
        long answer = Long.parseLong(String.valueOf(said.readLine()));
        double trained = seconds(said, "trained");
        double share = (processorNanos() - cpu) / 1e7 / trained;
        goOn(go);
        double formed = seconds(said, "formed");
        goOn(go);
        double grown = seconds(said, "grown");
        goOn(go);
        double ended = seconds(said, "ended");
        long resident = ProcessStatus.residentBytes() / 1_000_000;
        goOn(go);
        coordinator.await();
        if (isPrinted) {
          System.out.printf(
              Locale.ROOT,
              "| %d | %.2f | %.0f | %d | %d | %.3f | %.3f | %.3f | %.1f | %d | %d |%n",
              ranks,
              joined,
              share,
              answer,
              lost,
              formed,
              grown,
              ended,
              heap / 1e3 / ranks,
              resident,
              added);
        }
      } finally {
        process.destroyForcibly().waitFor();
      }
    }
  }

  private static void goOn(OutputStream to) throws IOException {
    to.write('\n');
    to.flush();
  }

  /** Reads the seconds of a phase. */
  private static double seconds(BufferedReader said, String phase) throws IOException {
    String line = said.readLine();
    if (line == null || !line.startsWith(phase + " ")) {
      throw new IOException("the simulated ranks have failed before they have " + phase);
    }
    return Double.parseDouble(line.substring(phase.length() + 1));
  }

  private static long heapBytes() {
    System.gc();
    return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
  }

  private static long processorNanos() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }
}
