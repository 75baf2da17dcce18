// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.distributed.membership.CoordinatorEvent.Kind;
import io.torchfeed.elastic.ElasticThreads.Rank;
import io.torchfeed.training.TrainingLoop.Outcome;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests that nothing is lost when all ranks leave, as after SIGTERM to each. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticLeaveTest {
  private static final int LEFT_AT = 3;

  /** More steps than there are: checkpoints are saved only when ranks leave, and at the end. */
  private static final long NEVER = 1_000_000;

  private final Path folder;

  ElasticLeaveTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private Rank rank(ElasticThreads threads, String name, Checkpoints checkpoints) {
    Rank rank = threads.new Rank(name);
    rank.options = builder -> builder.checkpoints(checkpoints, NEVER);
    return rank;
  }

  /** Trains until ranks leave in a step; returns how they have ended. */
  private List<Outcome> leave(ElasticThreads threads, List<String> leaving) throws Exception {
    CountDownLatch reached = new CountDownLatch(2);
    CountDownLatch told = new CountDownLatch(1);
    List<Future<Outcome>> ends = new ArrayList<>();
    List<Outcome> outcomes = new ArrayList<>();
    try (Checkpoints ofA = Checkpoints.open(folder);
        Checkpoints ofB = Checkpoints.open(folder)) {
      Rank a = rank(threads, "a", ofA);
      Rank b = rank(threads, "b", ofB);
      for (Rank each : List.of(a, b)) {
        each.before =
            step -> {
              if (step == LEFT_AT) {
                reached.countDown();
                ElasticThreads.await(told);
              }
            };
        ends.add(each.start());
      }
      reached.await();
      Stream<Rank> ranks = Stream.of(a, b).filter(each -> leaving.contains(each.name));
      ElasticThreads.pause(
          () -> ranks.forEach(each -> requireNonNull(each.membership).requestLeave()), a, b);
      told.countDown();
      for (Future<Outcome> each : ends) {
        outcomes.add(each.get());
      }
    }
    return outcomes;
  }

  @Test
  void theLastThatLeavesSavesACheckpointFromWhichOthersContinue() throws Exception {
    List<Long> used = new ArrayList<>();
    long step;
    try (ElasticThreads threads = new ElasticThreads(1, 2)) {
      assertThat(leave(threads, List.of("a", "b"))).containsExactly(Outcome.LEFT, Outcome.LEFT);
      used.addAll(threads.log().used(0));
      step = used.size() / ElasticNet.GLOBAL_BATCH;
    }
    assertThat(step).isGreaterThan(LEFT_AT);
    assertThat(Files.readString(folder.resolve("LATEST"))).isEqualTo("step-%06d\n".formatted(step));
    try (ElasticThreads threads = new ElasticThreads(1, 1);
        Checkpoints checkpoints = Checkpoints.open(folder)) {
      Rank next = rank(threads, "c", checkpoints);
      assertThat(next.start().get()).isEqualTo(Outcome.COMPLETED);
      assertThat(threads.log().generation(1).step()).isEqualTo(step);
      used.addAll(threads.log().used(0));
    }
    assertThat(used).hasSize(ElasticNet.SAMPLES).doesNotHaveDuplicates();
  }

  @Test
  void oneThatLeavesWhileAnotherContinuesSavesNone() throws Exception {
    try (ElasticThreads threads = new ElasticThreads(1, 2)) {
      assertThat(leave(threads, List.of("b"))).containsExactly(Outcome.COMPLETED, Outcome.LEFT);
      threads.await(Kind.FINISHED);
      threads.log().assertEachSampleOnce(1);
    }
    assertThat(folder.toFile().list())
        .containsExactlyInAnyOrder(
            "LATEST", "step-%06d".formatted(ElasticNet.SAMPLES / ElasticNet.GLOBAL_BATCH));
  }
}
