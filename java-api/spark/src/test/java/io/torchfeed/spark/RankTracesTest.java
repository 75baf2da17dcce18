// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.Torchfeed;
import io.torchfeed.trace.Trace;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Test;

/** Tests the traces of ranks on executors. */
class RankTracesTest {
  private static final long PATIENCE_MILLIS = 60_000;
  private static final long DELAY_MILLIS = 300; // far above the pauses of a busy machine
  private static final int ROWS = 960; // 30 steps in each of two epochs

  private final Path folder = TestSpark.folder("trace");

  private List<Path> dumps() throws IOException {
    try (Stream<Path> files = Files.list(folder)) {
      return files.filter(file -> file.toString().endsWith(".tftrace")).toList();
    }
  }

  /** Runs the command; returns its output. */
  private String merged() throws Exception {
    Process command =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Torchfeed.class.getName(),
                "trace",
                folder.toString())
            .redirectErrorStream(true)
            .start();
    String text = new String(command.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(command.waitFor()).as(text).isZero();
    return text;
  }

  private static void delay() {
    try {
      Thread.sleep(DELAY_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void anExecutorThatIsLateInEachTenthStepIsNamed() throws Exception {
    SparkSession spark =
        TestSpark.cluster(Map.of("spark.executorEnv.TORCHFEED_TRACE", folder.toString()));
    try {
      LineTask.ranks(TestSpark.points(spark, ROWS, 2))
          .train(
              LineTask.of(
                  null,
                  (context, batch) -> {
                    if (context.rank() == 1 && batch.number() % 10 == 5) {
                      delay();
                    }
                  }));
    } finally {
      spark.stop();
    }
    long end = System.currentTimeMillis() + PATIENCE_MILLIS;
    while (dumps().size() < 2) { // an executor writes its own when it ends, after Spark's stop
      assertThat(System.currentTimeMillis()).as("time for two dumps").isLessThan(end);
      Thread.sleep(20);
    }
    String report = merged();
    assertThat(report)
        .contains("processes: 2, hosts: 1")
        .containsPattern("\n +0 +60 ")
        .containsPattern("\n +1 +60 ");
    assertThat(report.lines().dropWhile(line -> !line.contains("slowest rank")).skip(1).limit(5))
        .as(report)
        .filteredOn(line -> line.matches(" +[1-5]?5 +1 +(0\\.[2-9]|[1-9]\\.)\\d+"))
        .hasSizeGreaterThanOrEqualTo(3);
    assertThat(folder.resolve("trace.perfetto-trace")).isNotEmptyFile();
  }

  @Test
  void aLoopWithATraceWritesItAtItsEnd() throws Exception {
    LineTask.ranks(TestSpark.points(TestSpark.local(), ROWS, 2))
        .train(LineTask.of(null, null).traced(folder.toString()));
    assertThat(Trace.isOn()).isFalse();
    assertThat(dumps()).hasSize(1); // both ranks are in this process
    assertThat(new String(Files.readAllBytes(dumps().get(0)), StandardCharsets.ISO_8859_1))
        .contains("\"rank\":0,\"ranks\":2", "\"rank\":1,\"ranks\":2", "the trace ends");
  }
}
