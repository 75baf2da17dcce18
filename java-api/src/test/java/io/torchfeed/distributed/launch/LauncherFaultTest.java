// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.torchfeed.testing.TestJvm;
import io.torchfeed.testing.ThreadStop;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests in which threads of the launcher and of its ranks are killed by an error. */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LauncherFaultTest {
  private static final Pattern PID = Pattern.compile("sleeping pid (\\d+)");

  private static Launcher launcher(String part) {
    return Launcher.builder()
        .ranks(2)
        .mainClass(FaultRank.class)
        .jvmOptions(TestJvm.SHORT_LIVED.toArray(new String[0]))
        .arguments(part)
        .prefixRankZero(true)
        .build();
  }

  @Test
  void theRankThatFailedFirstIsReportedAlthoughItExitsLast() {
    LaunchException failure =
        catchThrowableOfType(LaunchException.class, () -> launcher("blame").run());
    assertThat(failure.rank()).isEqualTo(1);
    assertThat(failure.exitCode()).isEqualTo(FaultRank.GUILTY);
    assertThat(failure.errorTail()).contains("a rule of the data");
  }

  @Test
  @DisabledForJreRange(min = JRE.JAVA_20, disabledReason = "Thread.stop does nothing there")
  void stoppingAnOutputThreadEndsTheLaunch() throws Exception {
    Thread thief =
        new Thread(
            () -> {
              try {
                // A thread that waits for the empty standard output would not notice that it was
                // stopped: only with the other one does the launch end.
                ThreadStop.threads("torchfeed-rank-1-output", 2);
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
    thief.start();
    LaunchException failure =
        catchThrowableOfType(LaunchException.class, () -> launcher("chatter").run());
    thief.join();
    assertThat(failure.rank()).isEqualTo(1);
    assertThat(failure).hasCauseInstanceOf(ThreadDeath.class);
    assertThat(failure).hasMessageStartingWith("the output of rank 1 could not be forwarded");
    assertNoRankIsLeft();
  }

  @Test
  void anErrorOnStandardErrorEndsTheLaunchAndTheNextOneWorks() throws Exception {
    PrintStream before = System.err;
    OutOfMemoryError full = new OutOfMemoryError("a test");
    System.setErr(
        new PrintStream(OutputStream.nullOutputStream()) {
          @Override
          public void println(String line) {
            throw full;
          }
        });
    try {
      LaunchException failure =
          catchThrowableOfType(LaunchException.class, () -> launcher("chatter").run());
      assertThat(failure).hasCause(full).hasMessageContaining("OutOfMemoryError: a test");
    } finally {
      System.setErr(before);
    }
    assertNoRankIsLeft();
    theRankThatFailedFirstIsReportedAlthoughItExitsLast();
  }

  /** Either the ranks' watch survives the errors, or the launcher's shutdown hook does. */
  @ParameterizedTest
  @CsvSource({"watch, KILL", "stubborn, TERM"})
  @DisabledForJreRange(min = JRE.JAVA_20, disabledReason = "Thread.stop does nothing there")
  void noRankOutlivesALauncherWhoseThreadsWereStopped(
      String part, String signal, @TempDir Path folder) throws Exception {
    try (TestJvm launcher =
        TestJvm.start(folder, Map.of(), List.of(), FaultLauncher.class.getName(), part)) {
      List<ProcessHandle> ranks =
          launcher.await(lines -> pids(lines).size() == 2).stream()
              .flatMap(line -> pids(List.of(line)).stream())
              .map(pid -> ProcessHandle.of(pid).orElseThrow())
              .toList();
      try {
        launcher.signal(signal);
        launcher.exitCode();
        for (ProcessHandle rank : ranks) {
          rank.onExit().get(20, TimeUnit.SECONDS);
        }
      } finally {
        ranks.forEach(ProcessHandle::destroyForcibly);
      }
    }
  }

  private static void assertNoRankIsLeft() {
    assertThat(
            ProcessHandle.current()
                .children()
                .filter(ProcessHandle::isAlive)
                .filter(
                    child ->
                        child.info().commandLine().orElse("").contains(FaultRank.class.getName())))
        .isEmpty();
  }

  private static List<Long> pids(List<String> lines) {
    return lines.stream()
        .map(PID::matcher)
        .filter(Matcher::find)
        .map(found -> Long.parseLong(found.group(1)))
        .toList();
  }
}
