// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.torchfeed.distributed.TestRank;
import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LauncherTest {
  private static final int SIGINT = 2;

  private static final Pattern PID = Pattern.compile("sleeping pid (\\d+)");

  @Test
  void theFirstFailingRankIsReportedAndTheOthersAreTerminated() {
    long start = System.nanoTime();
    LaunchException failure =
        catchThrowableOfType(
            LaunchException.class,
            () ->
                Launcher.builder()
                    .ranks(3)
                    .mainClass(TestRank.class)
                    .arguments("fail")
                    .prefixRankZero(true)
                    .build()
                    .run());
    assertThat(failure.rank()).isEqualTo(1);
    assertThat(failure.exitCode()).isEqualTo(7);
    assertThat(failure.errorTail()).contains("the reason");
    assertThat(failure).hasMessageContaining("rank 1 was the first to fail, with exit code 7");
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(60));
    assertThat(ProcessHandle.current().children().filter(LauncherTest::isRank)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"INT", "TERM", "KILL"})
  void noRankOutlivesTheLauncher(String signal, @TempDir Path folder) throws Exception {
    assumeFalse(
        signal.equals("INT") && isInterruptIgnored(),
        "these tests run in the background of a shell, whose processes ignore SIGINT");
    try (TestJvm launcher =
        TestJvm.start(folder, Map.of(), List.of(), TestLauncher.class.getName())) {
      List<ProcessHandle> ranks =
          launcher.await(lines -> pids(lines).size() == 2).stream()
              .flatMap(line -> pids(List.of(line)).stream())
              .map(pid -> ProcessHandle.of(pid).orElseThrow())
              .toList();
      launcher.signal(signal);
      launcher.exitCode();
      for (ProcessHandle rank : ranks) {
        rank.onExit().get(3, TimeUnit.SECONDS);
      }
    }
  }

  /** Returns whether this process, and so each process that it starts, ignores SIGINT. */
  private static boolean isInterruptIgnored() throws IOException {
    String ignored =
        Files.readAllLines(Path.of("/proc/self/status")).stream()
            .filter(line -> line.startsWith("SigIgn:"))
            .findFirst()
            .orElseThrow();
    long mask = Long.parseUnsignedLong(ignored.substring("SigIgn:".length()).strip(), 16);
    return (mask & (1L << (SIGINT - 1))) != 0;
  }

  @Test
  void anInterruptTerminatesTheRanks() throws Exception {
    Thread.currentThread().interrupt();
    assertThatThrownBy(
            () ->
                Launcher.builder()
                    .ranks(2)
                    .mainClass(TestRank.class)
                    .arguments("sleep")
                    .build()
                    .run())
        .isInstanceOf(InterruptedException.class);
    boolean interrupted = Thread.interrupted();
    assertThat(ProcessHandle.current().children().filter(LauncherTest::isRank)).isEmpty();
    assertThat(interrupted).isFalse();
  }

  @Test
  void invalidOptionsAreRefused() {
    LauncherBuilder builder = Launcher.builder();
    assertThatThrownBy(() -> builder.ranks(0)).hasMessage("ranks must be at least 1, got 0");
    assertThatThrownBy(builder::build).hasMessage("mainClass must be set");
    builder.ranks(2).mainClass("a.B").prefixRankZero(false).grace(Duration.ZERO);
    builder.oversubscribe(false);
    assertThatThrownBy(() -> builder.ranks(3)).hasMessage("ranks was already set to 2");
    assertThatThrownBy(() -> builder.mainClass("c.D"))
        .hasMessage("mainClass was already set to a.B");
    assertThatThrownBy(() -> builder.prefixRankZero(true))
        .hasMessage("prefixRankZero was already set to false");
    assertThatThrownBy(() -> builder.oversubscribe(true))
        .hasMessage("oversubscribe was already set to false");
    assertThatThrownBy(() -> builder.grace(Duration.ofSeconds(1)))
        .hasMessage("grace was already set to PT0S");
  }

  @Test
  void moreRanksThanFourForEachProcessorAreRefusedUnlessForced() {
    int processors = Runtime.getRuntime().availableProcessors();
    int many = 4 * processors + 1; // only built, never started
    assertThatThrownBy(() -> Launcher.builder().ranks(many).mainClass("a.B").build())
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "ranks must be at most %d on this machine, 4 for each of its %d processors, got %d;"
                + " start fewer, or set oversubscribe",
            many - 1, processors, many);
    assertThat(Launcher.builder().ranks(many - 1).mainClass("a.B").build()).isNotNull();
    assertThat(Launcher.builder().ranks(many).oversubscribe(true).mainClass("a.B").build())
        .isNotNull();
  }

  @Test
  void ranksForWhichTheMemoryDoesNotSufficeAreRefused() {
    LaunchException failure =
        catchThrowableOfType(
            LaunchException.class, () -> Launcher.requireMemory(8, OptionalLong.of(1500L << 20)));
    assertThat(failure)
        .hasMessage(
            "8 ranks need at least 1600 MiB of memory, 200 MiB for each, and 1500 MiB are available;"
                + " start at most 7, end other programs, or set oversubscribe");
    assertThat(failure.rank()).isEqualTo(7);
    assertThat(failure.exitCode()).isEqualTo(-1);
    Launcher.requireMemory(8, OptionalLong.of(1600L << 20));
    Launcher.requireMemory(8, OptionalLong.empty());
  }

  @Test
  void aFolderOfLogsThatCannotBeMadeIsNamedWithTheReason() {
    Path logs = Path.of("/proc/torchfeed");
    assertThatThrownBy(() -> Launcher.builder().ranks(1).mainClass("a.B").logs(logs).build().run())
        .isInstanceOf(LaunchException.class)
        .hasMessage("rank 0 could not be started: /proc/torchfeed: no such file or directory");
  }

  private static boolean isRank(ProcessHandle process) {
    return process.isAlive()
        && process.info().commandLine().orElse("").contains(TestRank.class.getName());
  }

  private static List<Long> pids(List<String> lines) {
    return lines.stream()
        .map(PID::matcher)
        .filter(Matcher::find)
        .map(found -> Long.parseLong(found.group(1)))
        .toList();
  }
}
