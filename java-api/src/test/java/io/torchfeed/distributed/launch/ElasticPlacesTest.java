// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.distributed.membership.CoordinatorEvent.Kind;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.distributed.membership.JobSecret;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of spares, and of launchers on several machines, which share this one. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticPlacesTest extends ElasticLaunchFixture {
  private static final JobSecret SECRET = JobSecret.random();

  private static CoordinatorOptions shared(int min, int max) {
    return ranks(min, max).withSecret(SECRET);
  }

  @Test
  void aSpareTakesOverAndTheReplacementBecomesASpare() throws Exception {
    Future<?> launch = start(launcher().elasticRanks(ranks(2, 2)).spares(1));
    CoordinatorEvent first = await(Kind.FORMED);
    assertThat(first.processes()).hasSize(2);
    awaitConnected(3);
    String lost = first.processes().get(0);
    signal("KILL", pid(1, lost));
    CoordinatorEvent second = await(Kind.FORMED);
    assertThat(second.processes()).hasSize(2).contains(first.processes().get(1));
    assertThat(second.processes().get(1)).endsWith(".1").isNotIn(first.processes());
    awaitConnected(4);
    complete();
    launch.get();
    assertThat(processes(Kind.CONNECTED)).contains(lost.replace(".1", ".2"));
    assertThat(processes(Kind.FORMED)).hasSize(4);
  }

  private void awaitConnected(int count) throws InterruptedException {
    while (seen.stream().filter(event -> event.kind() == Kind.CONNECTED).count() < count) {
      seen.add(events.take());
    }
  }

  @Test
  void launchersOfTwoMachinesRunOneJob() throws Exception {
    int port = freePort();
    Future<?> first =
        start(
            launcher()
                .elasticRanks(shared(2, 2))
                .processes(1)
                .listen("127.0.0.1", port)
                .job("two"));
    Future<?> second =
        start(
            silent()
                .elasticRanks(shared(1, 2))
                .processes(1)
                .coordinator("127.0.0.1", port)
                .job("two"));
    List<String> ranks = await(Kind.FORMED).processes();
    assertThat(ranks).hasSize(2).allSatisfy(name -> assertThat(name).endsWith("-p0.1"));
    signal("KILL", pid(1, ranks.get(1)));
    assertThat(await(Kind.FORMED).processes()).hasSize(2).anyMatch(name -> name.endsWith("p0.2"));
    complete();
    first.get();
    second.get();
  }

  @Test
  void aLauncherElsewhereGetsTheEventsAndKnowsTheRanks() throws Exception {
    int port = freePort();
    BlockingQueue<CoordinatorEvent> elsewhere = new LinkedBlockingQueue<>();
    Path logs = folder.resolve("logs");
    Future<?> first =
        start(
            launcher()
                .elasticRanks(shared(2, 2))
                .processes(1)
                .listen("127.0.0.1", port)
                .job("two"));
    Future<?> second =
        start(
            silent()
                .elasticRanks(shared(1, 2))
                .processes(1)
                .maxRestarts(0)
                .coordinator("127.0.0.1", port)
                .job("two")
                .shownRanks(1)
                .logs(logs)
                .events(elsewhere::add));
    CoordinatorEvent formed = await(Kind.FORMED);
    CoordinatorEvent same = elsewhere.take();
    while (same.kind() != Kind.FORMED) {
      same = elsewhere.take();
    }
    assertThat(same).isEqualTo(formed);
    String own =
        formed.processes().stream()
            .filter(name -> Files.exists(logs.resolve(name + ".log")))
            .findFirst()
            .orElseThrow();
    String other = formed.processes().get(1 - formed.processes().indexOf(own));
    ProcessHandle left = ProcessHandle.of(pid(1, other)).orElseThrow();
    signal("KILL", pid(1, own));
    LaunchException failure = failure(second);
    assertThat(failure.process()).isEqualTo(own);
    assertThat(failure.rank()).isEqualTo(formed.processes().indexOf(own));
    assertThat(failure.generation()).isEqualTo(1);
    assertThat(Files.readString(logs.resolve(own + ".log")))
        .contains("torchfeed: rank %d of 2 in generation 1".formatted(failure.rank()));
    first.cancel(true);
    left.onExit().get(60, TimeUnit.SECONDS);
  }

  @Test
  void aProcessThatHangsWhenTheJobElsewhereIsCompleteIsEnded() throws Exception {
    int port = freePort();
    Future<?> first =
        start(
            launcher()
                .elasticRanks(shared(2, 2))
                .processes(1)
                .listen("127.0.0.1", port)
                .job("two"));
    Future<?> second =
        start(
            silent(".*p1.1=hang")
                .elasticRanks(shared(1, 2))
                .grace(Duration.ofSeconds(1))
                .coordinator("127.0.0.1", port)
                .job("two"));
    assertThat(await(Kind.FORMED).processes()).hasSize(2);
    complete();
    first.get();
    second.get();
  }

  @Test
  void aRankThatFailsAtTheEndOfAJobElsewhereIsNamed() throws Exception {
    int port = freePort();
    Future<?> first =
        start(
            launcher()
                .elasticRanks(shared(2, 2))
                .processes(1)
                .listen("127.0.0.1", port)
                .job("two"));
    Future<?> second =
        start(
            silent(".*=fail at the end")
                .elasticRanks(shared(1, 2))
                .processes(1)
                .coordinator("127.0.0.1", port)
                .job("two"));
    await(Kind.FORMED);
    complete();
    first.get();
    assertThat(failure(second))
        .hasMessageContaining("the training is complete, but a rank failed after it")
        .hasMessageContaining("with exit code 5");
  }

  @Test
  void aLauncherWhoseCoordinatorIsLostFails() throws Exception {
    int port = freePort();
    Future<?> first =
        start(
            launcher()
                .elasticRanks(shared(2, 2))
                .processes(1)
                .listen("127.0.0.1", port)
                .job("two"));
    Future<?> second =
        start(
            silent()
                .elasticRanks(shared(1, 2))
                .processes(1)
                .coordinator("127.0.0.1", port)
                .job("two"));
    await(Kind.FORMED);
    first.cancel(true);
    assertThat(failure(second)).hasMessageContaining("the job has failed: the coordinator is lost");
  }

  @Test
  void aLauncherOfAnotherJobIsRefused() throws Exception {
    int port = freePort();
    Future<?> first =
        start(launcher().elasticRanks(shared(1, 1)).listen("127.0.0.1", port).job("two"));
    await(Kind.FORMED);
    Future<?> second =
        start(
            silent()
                .elasticRanks(shared(1, 2))
                .processes(1)
                .coordinator("127.0.0.1", port)
                .job("three"));
    assertThat(failure(second))
        .hasMessageContaining("this is the coordinator of job two, not of three");
    complete();
    first.get();
  }

  @Test
  void aPortThatIsTakenIsNamed() throws Exception {
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      Launcher launcher =
          launcher()
              .elasticRanks(shared(1, 1))
              .listen("127.0.0.1", taken.getLocalPort())
              .job("job")
              .build();
      assertThatThrownBy(launcher::run)
          .isInstanceOf(IllegalStateException.class)
          .hasMessageStartingWith("cannot listen at 127.0.0.1:" + taken.getLocalPort());
    }
  }

  @Test
  void aJobThatTooFewJoinFailsAfterTheTimeForReplacements() throws Exception {
    LaunchException failure =
        failure(
            start(
                launcher()
                    .elasticRanks(shared(2, 2).withReplacement(Duration.ofMillis(300)))
                    .processes(1)
                    .listen("127.0.0.1", freePort())
                    .job("two")));
    assertThat(failure)
        .hasMessage("the job has failed: 1 of at least 2 ranks were there after 300 ms");
  }

  @Test
  void aRankThatAlwaysDiesEndsAJobThatNobodyElseHasJoined() throws Exception {
    LaunchException failure =
        failure(
            start(
                launcher("p.*=fail", ".*p0.*=fail")
                    .elasticRanks(shared(1, 2))
                    .processes(1)
                    .maxRestarts(2, Duration.ofHours(1))
                    .listen("127.0.0.1", freePort())
                    .job("two")));
    assertThat(failure)
        .hasMessageStartingWith(
            "the job has failed: 0 of at least 1 processes are left; all 2 restarts within PT1H"
                + " are used up; process ")
        .hasMessageContaining("the reason of ");
    assertThat(failure.exitCode()).isEqualTo(ComingRank.GUILTY);
  }

  @Test
  void ranksElsewhereContinueWhileThisMachineMayNotReplaceItsOwn() throws Exception {
    int port = freePort();
    Future<?> first =
        start(
            launcher()
                .elasticRanks(shared(1, 2))
                .processes(1)
                .maxRestarts(0, Duration.ofHours(1))
                .listen("127.0.0.1", port)
                .job("two"));
    Path logs = folder.resolve("logs");
    Future<?> second =
        start(
            silent()
                .elasticRanks(shared(1, 2))
                .processes(1)
                .coordinator("127.0.0.1", port)
                .job("two")
                .logs(logs));
    CoordinatorEvent formed = await(Kind.FORMED);
    assertThat(formed.processes()).hasSize(2);
    for (String each : formed.processes()) {
      if (!Files.exists(logs.resolve(each + ".log"))) {
        signal("KILL", pid(1, each));
      }
    }
    assertThat(await(Kind.FORMED).processes()).hasSize(1);
    complete();
    first.get();
    second.get();
  }

  @Test
  void tooFewRanksOfSeveralMachinesEndTheJobWhenNobodyHasReplacedThem() throws Exception {
    int port = freePort();
    Future<?> first =
        start(
            launcher()
                .elasticRanks(shared(2, 2))
                .processes(1)
                .maxRestarts(0, Duration.ofMillis(500))
                .listen("127.0.0.1", port)
                .job("two"));
    Future<?> second =
        start(
            silent()
                .elasticRanks(shared(2, 2))
                .processes(1)
                .coordinator("127.0.0.1", port)
                .job("two"));
    CoordinatorEvent formed = await(Kind.FORMED);
    for (String each : formed.processes()) {
      signal("KILL", pid(1, each));
    }
    assertThat(failure(first)).hasMessageContaining("no restarts are allowed");
    assertThat(failure(second)).hasMessageContaining("the job has failed: ");
  }

  @Test
  void aLauncherWithAnotherSecretIsRefusedAndOneWithoutIsNotBuilt() throws Exception {
    int port = freePort();
    Future<?> first =
        start(launcher().elasticRanks(shared(1, 1)).listen("127.0.0.1", port).job("two"));
    await(Kind.FORMED);
    CoordinatorOptions other = ranks(1, 2).withSecret(JobSecret.random());
    assertThat(
            failure(start(silent().elasticRanks(other).coordinator("127.0.0.1", port).job("two"))))
        .hasMessage(
            "no membership of the job at 127.0.0.1:%d: the coordinator is not trusted: it has"
                + " another secret",
            port);
    complete();
    first.get();
    LauncherBuilder without =
        silent().elasticRanks(ranks(1, 1)).listen("127.0.0.1", port).job("two");
    assertThatThrownBy(without::build)
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("TORCHFEED_JOB_SECRET_FILE");
  }

  private CoordinatorEvent await(Kind kind) throws InterruptedException {
    while (true) {
      CoordinatorEvent event = events.take();
      seen.add(event);
      if (event.kind() == kind) {
        return event;
      }
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }
}
