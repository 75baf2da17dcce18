// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.testing.TestJvm;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.TestReporter;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of many open passes of a loader: left by {@code break}, or read at the same time. */
@Timeout(120)
class AbandonedPassesTest {
  private static final int SIZE = 64;
  private static final int LIMIT_MIB = 768; // of 1140 MiB that the passes take together

  @ParameterizedTest
  @CsvSource({
    "native, -XX:-DisableExplicitGC",
    "java, -XX:-DisableExplicitGC",
    "stream, -XX:-DisableExplicitGC",
    "native, -XX:+DisableExplicitGC",
    "java, -XX:+DisableExplicitGC",
    "stream, -XX:+DisableExplicitGC",
  })
  @EnabledOnOs(OS.LINUX)
  void passesLeftByBreakKeepMemoryAndThreadsBounded(
      String kind, String option, TestReporter reporter) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(TestJvm.SHORT_LIVED);
    command.addAll(List.of("-Xms128m", "-Xmx128m"));
    command.add("-XX:+AlwaysPreTouch"); // so that only memory outside of the heap grows
    command.add(option);
    command.addAll(List.of(AbandonedPasses.class.getName(), kind, "60", "45000"));
    command.add(Integer.toString(LIMIT_MIB));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    reporter.publishEntry(option, output);
    assertThat(process.waitFor()).as(output).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"native", "java"})
  void droppedLoadersKeepThreadsBounded(String kind) throws Exception {
    long objects = torchfeed.live_objects();
    long before = ProcessStatus.threads();
    long most = 0;
    try (RowData data = data(kind, SIZE)) {
      for (int i = 0; i < 60; i++) {
        drop(data);
        most = Math.max(most, ProcessStatus.threads() - before);
      }
    }
    assertThat(most).isLessThan(2 * 24);
    awaitObjects(objects);
  }

  @SuppressWarnings("MustBeClosedChecker")
  private static void drop(RowData data) {
    assertThat(data.over().batchSize(4).workers(2).build().batches()).isEqualTo(SIZE / 4);
  }

  @ParameterizedTest
  @ValueSource(strings = {"native", "java"})
  void manyPassesHeldOnceDoNotLetAsManyBeDropped(String kind) throws Exception {
    long objects = torchfeed.live_objects();
    long before = ProcessStatus.threads();
    long most = 0;
    try (RowData data = data(kind, SIZE);
        DataLoader loader = data.over().batchSize(4).workers(2).build()) {
      open(loader, 40).forEach(Batches::close);
      for (int i = 0; i < 60; i++) {
        open(loader, 1).forEach(pass -> pass.next().close());
        most = Math.max(most, ProcessStatus.threads() - before);
      }
    }
    assertThat(most).as("threads of dropped passes").isLessThan(2 * 24);
    awaitObjects(objects);
  }

  /** Waits until all dropped passes and loaders are closed. */
  private static void awaitObjects(long objects) throws InterruptedException {
    while (torchfeed.live_objects() > objects) {
      System.gc();
      Thread.sleep(10);
    }
  }

  private static RowData data(String kind, int size) {
    return kind.equals("native") ? RowData.tensors(size) : RowData.samples(size);
  }

  private static List<Batches> open(DataLoader loader, int passes) {
    return IntStream.range(0, passes)
        .mapToObj(loader::epoch)
        .collect(Collectors.toCollection(ArrayList::new));
  }

  private static void readInTurns(List<Batches> passes) {
    for (int row = 0; row < SIZE; row += 4) {
      for (Batches batches : passes) {
        Rows.assertHolds(batches.next(), row, row + 1, row + 2, row + 3);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"native", "java"})
  void passesReadAtTheSameTimeAreKept(String kind) {
    try (RowData data = data(kind, SIZE);
        DataLoader loader = data.over().batchSize(4).workers(1).build()) {
      List<Batches> passes = open(loader, 20);
      readInTurns(passes);
      passes.forEach(Batches::close);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"native", "java"})
  void moreOpenPassesThanTheLimitAreRefused(String kind) {
    try (RowData data = data(kind, SIZE);
        DataLoader loader = data.over().batchSize(4).workers(0).build()) {
      List<Batches> passes = open(loader, 128);
      for (int attempt = 0; attempt < 2; attempt++) {
        assertThatIllegalStateException()
            .isThrownBy(() -> loader.epoch(0))
            .withMessageContaining("at most 128 passes")
            .withMessageContaining("try-with-resources");
      }
      passes.remove(0).close();
      passes.add(loader.epoch(0));
      readInTurns(passes);
    }
  }
}
