// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.distributed.training.ReplicatedModel;
import io.torchfeed.elastic.ElasticThreads.Rank;
import io.torchfeed.elastic.ElasticThreads.UserException;
import io.torchfeed.training.TrainingLoop.Outcome;
import io.torchfeed.training.TrainingLoopBuilder;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the elastic loop's faults; threads are ranks. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticTrainingTest {
  private static void fail(long step, long at) {
    if (step == at) {
      throw new UserException();
    }
  }

  private static void assertFails(Future<Outcome> rank, Class<? extends Throwable> type) {
    assertThatThrownBy(rank::get).isInstanceOf(ExecutionException.class).cause().isInstanceOf(type);
  }

  @Test
  void anExceptionOfTheUserEndsItsRankOnly() throws Exception {
    try (ElasticThreads threads = new ElasticThreads(1, 3)) {
      Rank a = threads.new Rank("a");
      Rank b = threads.new Rank("b");
      Rank c = threads.new Rank("c");
      b.before = step -> fail(step, 3);
      Future<Outcome> ofA = a.start();
      Future<Outcome> ofB = b.start();
      Future<Outcome> ofC = c.start();
      assertFails(ofB, UserException.class);
      assertThat(ofA.get()).isEqualTo(Outcome.COMPLETED);
      assertThat(ofC.get()).isEqualTo(Outcome.COMPLETED);
      assertThat(a.digest).isEqualTo(c.digest);
      assertThat(threads.events)
          .anySatisfy(event -> assertThat(event.text()).contains("of the user"));
      threads.log().assertEachSampleOnce(1);
    }
  }

  @Test
  void aRankThatIsAStepBehindTakesTheStateOfTheFurthest() throws Exception {
    try (ElasticThreads threads = new ElasticThreads(1, 3)) {
      Rank a = threads.new Rank("a");
      Rank b = threads.new Rank("b");
      Rank c = threads.new Rank("c");
      CountDownLatch completed = new CountDownLatch(1);
      a.before = step -> countDown(completed, step == 5);
      b.between =
          step -> {
            if (step == 4) {
              b.awaitBroken();
              throw new IllegalStateException("an operation of the group was aborted");
            }
          };
      c.after =
          step -> {
            if (step == 4) {
              ElasticThreads.await(completed);
              throw new UserException();
            }
          };
      Future<Outcome> ofA = a.start();
      Future<Outcome> ofB = b.start();
      assertFails(c.start(), UserException.class);
      assertThat(ofA.get()).isEqualTo(Outcome.COMPLETED);
      assertThat(ofB.get()).isEqualTo(Outcome.COMPLETED);
      assertThat(a.digest).isEqualTo(b.digest);
      ElasticLog log = threads.log();
      log.assertEachSampleOnce(1);
      assertThat(log.generation(2).step()).isEqualTo(5);
      assertThat(log.generation(2).names()).containsExactly("a", "b");
    }
  }

  private static void countDown(CountDownLatch latch, boolean condition) {
    if (condition) {
      latch.countDown();
    }
  }

  @Test
  void aStepThatLosesARankAfterTheOptimizerCounts() throws Exception {
    try (ElasticThreads threads = new ElasticThreads(1, 2)) {
      Rank a = threads.new Rank("a");
      Rank b = threads.new Rank("b");
      CountDownLatch completed = new CountDownLatch(1);
      a.after =
          step -> {
            if (step == 4) {
              completed.countDown();
              a.awaitBroken();
              throw new IllegalStateException("an operation of the group was aborted");
            }
          };
      b.before =
          step -> {
            if (step == 5) {
              ElasticThreads.await(completed); // else the loss could end this step of the other
            }
            fail(step, 5);
          };
      Future<Outcome> ofA = a.start();
      assertFails(b.start(), UserException.class);
      assertThat(ofA.get()).isEqualTo(Outcome.COMPLETED);
      ElasticLog log = threads.log();
      log.assertEachSampleOnce(1);
      assertThat(log.generation(2).step()).isEqualTo(5);
    }
  }

  @Test
  void aRankThatComesHasTheStateOfTheOthersBitForBit() throws Exception {
    try (ElasticThreads threads = new ElasticThreads(1, 2, Duration.ZERO)) {
      Rank a = threads.new Rank("a");
      Rank b = threads.new Rank("b");
      for (Future<Outcome> each : threads.joinLater(a, b, 3)) {
        assertThat(each.get()).isEqualTo(Outcome.COMPLETED);
      }
      assertThat(a.digest).isEqualTo(b.digest);
      ElasticLog log = threads.log();
      log.assertEachSampleOnce(1);
      assertThat(log.generation(2).names()).containsExactly("a", "b");
    }
  }

  /** A part of the state that one rank cannot load. */
  private record Unloadable(boolean fails) implements Stateful {
    @Override
    public StateDict stateDict() {
      return StateDict.of("{}", Map.of());
    }

    @Override
    public void loadStateDict(StateDict state) {
      if (fails) {
        throw new UserException();
      }
    }
  }

  private static void addPart(Rank rank, boolean fails) {
    rank.optimizer =
        (net, state) -> {
          net.addTo(state);
          state.part("part", new Unloadable(fails));
          return net::update;
        };
  }

  @Test
  void aRankThatCannotTakeTheStateLeavesTheOthersUnharmed() throws Exception {
    try (ElasticThreads threads = new ElasticThreads(1, 2, Duration.ZERO)) {
      Rank a = threads.new Rank("a");
      Rank b = threads.new Rank("b");
      addPart(a, false);
      addPart(b, true);
      List<Future<Outcome>> both = threads.joinLater(a, b, 3);
      assertFails(both.get(1), UserException.class);
      assertThat(both.get(0).get()).isEqualTo(Outcome.COMPLETED);
      threads.log().assertEachSampleOnce(1);
    }
  }

  @Test
  void freshRanksDoNotBeginAgainWhenAllThatHeldTheStateAreLost() throws Exception {
    try (ElasticThreads threads = new ElasticThreads(1, 1)) {
      Future<Outcome> other = loseTheOnlyHolder(threads, builder -> {});
      assertFails(other, StateLostException.class);
      assertThat(threads.log().generations().headMap(2)).hasSize(1);
      assertThat(threads.log().generations().tailMap(2)).isEmpty();
    }
  }

  @Test
  void freshRanksContinueFromTheLastCheckpoint(@TempDir Path folder) throws Exception {
    try (ElasticThreads threads = new ElasticThreads(1, 1);
        Checkpoints ofA = Checkpoints.open(folder);
        Checkpoints ofB = Checkpoints.open(folder)) {
      Iterator<Checkpoints> each = List.of(ofA, ofB).iterator();
      Future<Outcome> other =
          loseTheOnlyHolder(threads, builder -> builder.checkpoints(each.next(), 2));
      assertThat(other.get()).isEqualTo(Outcome.COMPLETED);
      ElasticLog log = threads.log();
      log.assertEachSampleOnce(1);
      assertThat(log.generation(2).step()).isEqualTo(4);
    }
  }

  /** Returns the rank that comes after the only one that held the state. */
  private static Future<Outcome> loseTheOnlyHolder(
      ElasticThreads threads, Consumer<TrainingLoopBuilder<ReplicatedModel>> options)
      throws Exception {
    Rank a = threads.new Rank("a");
    Rank b = threads.new Rank("b");
    a.options = options;
    b.options = options;
    CountDownLatch waits = new CountDownLatch(1);
    a.before =
        step -> {
          if (step == 5) {
            ElasticThreads.await(waits);
            throw new UserException();
          }
        };
    Future<Outcome> ofA = a.start();
    threads.await(CoordinatorEvent.Kind.FORMED);
    Future<Outcome> ofB = b.start();
    threads.await(CoordinatorEvent.Kind.CONNECTED);
    waits.countDown();
    assertFails(ofA, UserException.class);
    return ofB;
  }
}
