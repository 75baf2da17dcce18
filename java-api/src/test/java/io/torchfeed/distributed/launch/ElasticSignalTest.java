// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.torchfeed.distributed.membership.CoordinatorEvent.Kind;
import io.torchfeed.internal.JdkSignal;
import io.torchfeed.testing.TestJvm;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of launchers and processes that are terminated, interrupted or killed. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticSignalTest extends ElasticLaunchFixture {
  private static final Pattern PID = Pattern.compile("rank \\d+ pid (\\d+)");

  @Test
  void aRankThatIsTerminatedLeavesAndIsNotReplaced() throws Exception {
    Future<?> launch = start(launcher("p.*=leave on termination").elasticRanks(ranks(1, 2)));
    awaitRanks("p0.1", "p1.1");
    signal("TERM", pid(1, "p1.1"));
    awaitRanks("p0.1");
    complete();
    launch.get();
    assertThat(processes(Kind.LEFT)).containsExactly("p1.1");
    assertThat(processes(Kind.LOST)).isEmpty();
    assertThat(processes(Kind.CONNECTED)).hasSize(2);
  }

  @Test
  void aSecondSignalOfTheSameKindEndsAProcess() throws Exception {
    Future<?> launch =
        start(launcher("p.*=leave on termination slowly").elasticRanks(ranks(1, 1)).maxRestarts(0));
    awaitRanks("p0.1");
    long pid = pid(1, "p0.1");
    signal("TERM", pid);
    awaitEvent(Kind.PAUSED); // the first signal was taken
    signal("TERM", pid);
    assertThat(failure(launch).exitCode()).isEqualTo(143);
  }

  @Test
  void anInterruptedLauncherEndsItsProcesses() throws Exception {
    Future<?> launch = start(launcher().elasticRanks(ranks(2, 2)));
    awaitRanks("p0.1", "p1.1");
    ProcessHandle first = ProcessHandle.of(pid(1, "p0.1")).orElseThrow();
    ProcessHandle second = ProcessHandle.of(pid(1, "p1.1")).orElseThrow();
    launch.cancel(true);
    assertThatThrownBy(launch::get).isInstanceOf(CancellationException.class);
    first.onExit().get(60, TimeUnit.SECONDS);
    second.onExit().get(60, TimeUnit.SECONDS);
  }

  @Test
  void aTerminatedLauncherLetsItsRanksLeave() throws Exception {
    try (TestJvm launcher = launcherProcess("p.*=leave on termination")) {
      List<ProcessHandle> ranks = ranks(launcher);
      launcher.signal("TERM");
      assertThat(launcher.exitCode()).isEqualTo(143);
      assertThat(launcher.output())
          .anySatisfy(line -> assertThat(line).isEqualTo("[p0.1] left"))
          .anySatisfy(line -> assertThat(line).isEqualTo("[p1.1] left"));
      assertThat(ranks).noneMatch(ProcessHandle::isAlive);
      assertThat(folder.toFile().list())
          .isNotEmpty()
          .noneMatch(name -> name.startsWith("torchfeed-launcher"));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"USR1", "HUP"})
  void aSignalIsForwardedToTheRanks(String signal) throws Exception {
    assumeFalse(isIgnored(signal), "this process ignores it, as under nohup");
    try (TestJvm launcher = launcherProcess("p.*=leave on USR1 and HUP")) {
      ranks(launcher);
      launcher.signal(signal);
      assertThat(launcher.exitCode()).isEqualTo(1);
      assertThat(launcher.output())
          .anySatisfy(line -> assertThat(line).isEqualTo("[p0.1] left"))
          .anySatisfy(line -> assertThat(line).isEqualTo("[p1.1] left"))
          .anySatisfy(line -> assertThat(line).contains("left before the training was complete"));
    }
  }

  /** Returns whether this process ignores a signal, and so the processes that it starts. */
  private static boolean isIgnored(String name) {
    JdkSignal signal = JdkSignal.of(name);
    Object before = signal.handle(() -> {});
    signal.restore(before);
    return signal.isIgnored(before);
  }

  /** Also when a rank is stopped, and when one does not react. */
  @ParameterizedTest
  @ValueSource(strings = {"TERM", "KILL"})
  void noProcessOutlivesALauncher(String signal) throws Exception {
    try (TestJvm launcher = launcherProcess("")) {
      List<ProcessHandle> ranks = ranks(launcher);
      if (signal.equals("TERM")) {
        signal("STOP", ranks.get(0).pid());
      }
      launcher.signal(signal);
      launcher.exitCode();
      for (ProcessHandle rank : ranks) {
        rank.onExit().get(60, TimeUnit.SECONDS);
      }
    }
  }

  /** As in a suspended job of Slurm: longer than the coordinator may be silent, 10 s. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aPauseOfTheWholeJobLosesNobody(boolean isLauncherFirst) throws Exception {
    try (TestJvm launcher = launcherProcess("", "PT1S")) {
      List<ProcessHandle> ranks = ranks(launcher);
      launcher.signal("STOP");
      for (ProcessHandle rank : ranks) {
        signal("STOP", rank.pid());
      }
      Thread.sleep(11_000);
      if (isLauncherFirst) {
        launcher.signal("CONT");
        Thread.sleep(2_000); // with ranks that are still stopped
      }
      for (ProcessHandle rank : ranks) {
        signal("CONT", rank.pid());
      }
      if (!isLauncherFirst) {
        Thread.sleep(2_000);
        launcher.signal("CONT");
      }
      complete();
      assertThat(launcher.exitCode()).as("%s", launcher.output()).isZero();
      assertThat(launcher.output())
          .anySatisfy(line -> assertThat(line).endsWith("rank 0 completed"))
          .anySatisfy(line -> assertThat(line).endsWith("rank 1 completed"));
      assertThat(folder.toFile().list()).doesNotContain("2-p0.1", "2-p1.1");
    }
  }

  private TestJvm launcherProcess(String behavior, String... silence) throws Exception {
    List<String> command =
        new ArrayList<>(List.of(ComingLauncher.class.getName(), folder.toString(), behavior));
    command.addAll(List.of(silence));
    return TestJvm.start(
        folder,
        Map.of(),
        List.of("-Xmx64m", "-Djava.io.tmpdir=" + folder),
        command.toArray(new String[0]));
  }

  private static List<ProcessHandle> ranks(TestJvm launcher) throws Exception {
    return launcher.await(lines -> pids(lines).size() == 2).stream()
        .flatMap(line -> pids(List.of(line)).stream())
        .map(pid -> ProcessHandle.of(pid).orElseThrow())
        .toList();
  }

  private static List<Long> pids(List<String> lines) {
    return lines.stream()
        .map(PID::matcher)
        .filter(Matcher::find)
        .map(found -> Long.parseLong(found.group(1)))
        .toList();
  }
}
