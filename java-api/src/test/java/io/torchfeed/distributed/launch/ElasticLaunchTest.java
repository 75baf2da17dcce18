// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.distributed.membership.CoordinatorEvent.Kind;
import java.time.Duration;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of elastic launches, with real processes. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticLaunchTest extends ElasticLaunchFixture {
  private static final int KILLED = 137;

  @Test
  void aKilledRankIsReplacedAndTheJobIsCompleted() throws Exception {
    Future<?> launch = start(launcher().elasticRanks(ranks(2, 2)));
    awaitRanks("p0.1", "p1.1");
    signal("KILL", pid(1, "p1.1"));
    awaitRanks("p0.1", "p1.2");
    complete();
    launch.get();
    assertThat(processes(Kind.LOST)).containsExactly("p1.1");
    assertThat(processes(Kind.CONNECTED)).containsExactlyInAnyOrder("p0.1", "p1.1", "p1.2");
  }

  @Test
  void theFirstFailureIsQuotedWhenTheBudgetIsUsedUp() throws Exception {
    Future<?> launch =
        start(
            launcher("p1.*=fail").elasticRanks(ranks(2, 2)).maxRestarts(2, Duration.ofMinutes(5)));
    LaunchException failure = failure(launch);
    assertThat(failure)
        .hasMessage(
            "the job has failed: 1 of at least 2 processes are left; all 2 restarts within PT5M"
                + " are used up; process p1.1 (in no generation) was the first to fail, with exit"
                + " code 5; the end of its standard error:\nthe reason of p1.1");
    assertThat(failure.process()).isEqualTo("p1.1");
    assertThat(failure.rank()).isEqualTo(-1);
    assertThat(failure.generation()).isZero();
    assertThat(failure.exitCode()).isEqualTo(ComingRank.GUILTY);
  }

  @Test
  void aFailureNamesRankGenerationAndSignal() throws Exception {
    Future<?> launch = start(launcher().elasticRanks(ranks(1, 1)).maxRestarts(0));
    awaitRanks("p0.1");
    signal("KILL", pid(1, "p0.1"));
    LaunchException failure = failure(launch);
    assertThat(failure)
        .hasMessage(
            "the job has failed: 0 of at least 1 processes are left; no restarts are allowed;"
                + " process p0.1 (rank 0 of generation 1) was the first to fail, by signal 9");
    assertThat(failure.rank()).isZero();
    assertThat(failure.generation()).isEqualTo(1);
    assertThat(failure.exitCode()).isEqualTo(KILLED);
  }

  @Test
  void ranksContinueWithFewerIfTheBudgetIsUsedUpAndEnoughAreLeft() throws Exception {
    Future<?> launch = start(launcher().elasticRanks(ranks(1, 2)).maxRestarts(0));
    awaitRanks("p0.1", "p1.1");
    signal("KILL", pid(1, "p0.1"));
    awaitRanks("p1.1");
    complete();
    launch.get();
    assertThat(processes(Kind.CONNECTED)).containsExactlyInAnyOrder("p0.1", "p1.1");
  }

  @Test
  void aRankThatLeavesAsPlannedIsNotReplaced() throws Exception {
    Future<?> launch = start(launcher("p1.1=leave").elasticRanks(ranks(1, 2)));
    awaitRanks("p0.1", "p1.1");
    awaitRanks("p0.1");
    complete();
    launch.get();
    assertThat(processes(Kind.LEFT)).containsExactly("p1.1");
    assertThat(processes(Kind.LOST)).isEmpty();
    assertThat(processes(Kind.CONNECTED)).containsExactlyInAnyOrder("p0.1", "p1.1");
  }

  @Test
  void programsThatExitBeforeTheTrainingIsCompleteAreNoSuccess() throws Exception {
    LaunchException failure =
        failure(start(launcher("p.*=nothing").elasticRanks(ranks(2, 2)).maxRestarts(0)));
    assertThat(failure)
        .hasMessageMatching(
            "the job has failed: [01] of at least 2 processes are left; left before the training"
                + " was complete: \\[p[01].1.*\\]; none of them has called Membership.fromEnvironment");
    assertThat(failure.process()).isEmpty();
  }

  @Test
  void aStoppedRankIsKilledAndReplaced() throws Exception {
    Future<?> launch = start(launcher().elasticRanks(ranks(2, 2)).grace(Duration.ofMillis(200)));
    awaitRanks("p0.1", "p1.1");
    signal("STOP", pid(1, "p0.1"));
    awaitRanks("p1.1", "p0.2");
    complete();
    launch.get();
  }

  @Test
  void aRankThatIsStoppedAtTheEndIsKilledAndNamed() throws Exception {
    Future<?> launch =
        start(
            launcher("p1.1=stop at the end")
                .elasticRanks(ranks(2, 2))
                .grace(Duration.ofMillis(200)));
    awaitRanks("p0.1", "p1.1");
    complete();
    LaunchException failure = failure(launch);
    assertThat(failure)
        .hasMessageMatching(
            "the training is complete, but a rank failed after it; process p1.1 \\(rank [01] of"
                + " generation 1\\) was the first to fail, by signal 9");
    assertThat(processes(Kind.FINISHED)).hasSize(2);
  }

  @Test
  void aRankThatFailsAtTheEndIsNamedWhenTheOthersHaveExited() throws Exception {
    Future<?> launch = start(launcher("p0.1=fail at the end").elasticRanks(ranks(2, 2)));
    awaitRanks("p0.1", "p1.1");
    complete();
    assertThat(failure(launch))
        .hasMessageContaining("the training is complete, but")
        .hasMessageEndingWith(
            "with exit code 5; the end of its standard error:\nthe reason of p0.1");
  }

  @Test
  void processesGetTheirPlaceInsteadOfARank() throws Exception {
    LaunchException failure =
        failure(
            start(
                launcher("p.*=variables")
                    .elasticRanks(ranks(1, 1))
                    .maxRestarts(0)
                    .environment("RANK", "3")
                    .environment("WORLD_SIZE", "4")));
    assertThat(failure.errorTail().lines())
        .contains(
            "TORCHFEED_COORDINATOR_HOST",
            "TORCHFEED_COORDINATOR_PORT",
            "TORCHFEED_JOB_ID",
            "TORCHFEED_PROCESS_NAME",
            "LOCAL_RANK")
        .doesNotContain("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT");
  }
}
