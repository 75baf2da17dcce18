// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.checkpoint.Checkpoints;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.data.Batch;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.distributed.membership.Coordinator;
import io.torchfeed.distributed.membership.CoordinatorEvent;
import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.elastic.ElasticTraining.Outcome;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import org.bytedeco.javacpp.PointerScope;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the elastic loop's faults; threads are ranks. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticTrainingTest {
  private final BlockingQueue<CoordinatorEvent> events = new LinkedBlockingQueue<>();
  private final Queue<String> lines = new ConcurrentLinkedQueue<>();
  private final ExecutorService threads = Executors.newCachedThreadPool();

  @AfterEach
  void endThreads() {
    threads.shutdownNow();
  }

  private Coordinator listen(int min, int max) {
    CoordinatorOptions options =
        CoordinatorOptions.of(min, max)
            .withSilence(Duration.ofSeconds(60))
            .withStart(Duration.ofSeconds(60));
    return Coordinator.listen("127.0.0.1", 0, "job", options, events::add);
  }

  private void await(CoordinatorEvent.Kind kind) throws InterruptedException {
    while (events.take().kind() != kind) {}
  }

  /** A rank, and its actions in a step before and after the backward pass. */
  private final class Rank {
    final Coordinator coordinator;
    final String name;
    Action before = step -> {};
    Action between = step -> {};
    Action after = step -> {};
    int epochs = 1;
    @Nullable Stateful part;
    @Nullable Path checkpoints;
    @Nullable Membership membership;
    String digest = "";

    Rank(Coordinator coordinator, String name) {
      this.coordinator = coordinator;
      this.name = name;
    }

    Future<Outcome> start() {
      return threads.submit(
          () -> {
            try (PointerScope scope = new PointerScope();
                TensorDataset data = ElasticNet.data();
                Membership own = Membership.join("127.0.0.1", coordinator.port(), "job", name)) {
              membership = own;
              ElasticNet net = new ElasticNet(name.charAt(0));
              Outcome outcome = run(net, own, data);
              digest = net.digest();
              return outcome;
            }
          });
    }

    private Outcome run(ElasticNet net, Membership own, TensorDataset data) throws Exception {
      int[] generation = new int[1];
      ElasticTraining[] training = new ElasticTraining[1];
      ElasticTrainingBuilder builder =
          ElasticTraining.builder(own, group -> DistributedDataParallel.wrap(net, group))
              .state(
                  state -> {
                    net.addTo(state);
                    if (part != null) {
                      state.part("part", part);
                    }
                  })
              .loader(part -> ElasticNet.loader(data, part))
              .epochs(epochs)
              .whenChanged(
                  world -> {
                    generation[0] = world.generation();
                    lines.add(
                        ElasticLog.world(
                            generation[0],
                            training[0].step(),
                            world.rank(),
                            world.size(),
                            name,
                            net.digest()));
                  });
      try (Checkpoints kept =
          Checkpoints.open(checkpoints == null ? Path.of("unused") : checkpoints)) {
        if (checkpoints != null) {
          builder.checkpoints(kept, 2);
        }
        ElasticTraining mine = builder.build();
        training[0] = mine;
        return mine.run((model, batch) -> step(generation[0], mine.step(), net, model, batch));
      }
    }

    private void step(
        int generation, long step, ElasticNet net, DistributedDataParallel model, Batch batch) {
      lines.add(ElasticLog.batch(generation, step, batch));
      before.at(step);
      net.backward(model, batch);
      between.at(step);
      net.update();
      after.at(step);
    }

    void awaitBroken() {
      while (membership == null || membership.broken().isEmpty()) {
        Thread.onSpinWait();
      }
    }
  }

  @FunctionalInterface
  private interface Action {
    void at(long step);
  }

  /** A fault of a user's program. */
  private static final class UserException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    UserException() {
      super("of the user");
    }
  }

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
    try (Coordinator coordinator = listen(1, 3)) {
      Rank a = new Rank(coordinator, "a");
      Rank b = new Rank(coordinator, "b");
      Rank c = new Rank(coordinator, "c");
      b.before = step -> fail(step, 3);
      Future<Outcome> ofA = a.start();
      Future<Outcome> ofB = b.start();
      Future<Outcome> ofC = c.start();
      assertFails(ofB, UserException.class);
      assertThat(ofA.get()).isEqualTo(Outcome.COMPLETED);
      assertThat(ofC.get()).isEqualTo(Outcome.COMPLETED);
      assertThat(a.digest).isEqualTo(c.digest);
      assertThat(events).anySatisfy(event -> assertThat(event.text()).contains("of the user"));
    }
    new ElasticLog(lines).assertEachSampleOnce(1);
  }

  @Test
  void aRankThatIsAStepBehindTakesTheStateOfTheFurthest() throws Exception {
    try (Coordinator coordinator = listen(1, 3)) {
      Rank a = new Rank(coordinator, "a");
      Rank b = new Rank(coordinator, "b");
      Rank c = new Rank(coordinator, "c");
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
              await(completed);
              throw new UserException();
            }
          };
      Future<Outcome> ofA = a.start();
      Future<Outcome> ofB = b.start();
      assertFails(c.start(), UserException.class);
      assertThat(ofA.get()).isEqualTo(Outcome.COMPLETED);
      assertThat(ofB.get()).isEqualTo(Outcome.COMPLETED);
      assertThat(a.digest).isEqualTo(b.digest);
    }
    ElasticLog log = new ElasticLog(lines);
    log.assertEachSampleOnce(1);
    assertThat(log.generation(2).step()).isEqualTo(5);
    assertThat(log.generation(2).names()).containsExactly("a", "b");
  }

  private static void countDown(CountDownLatch latch, boolean condition) {
    if (condition) {
      latch.countDown();
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void aStepThatLosesARankAfterTheOptimizerCounts() throws Exception {
    try (Coordinator coordinator = listen(1, 2)) {
      Rank a = new Rank(coordinator, "a");
      Rank b = new Rank(coordinator, "b");
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
              await(completed); // else the loss could end this step of the other rank
            }
            fail(step, 5);
          };
      Future<Outcome> ofA = a.start();
      assertFails(b.start(), UserException.class);
      assertThat(ofA.get()).isEqualTo(Outcome.COMPLETED);
    }
    ElasticLog log = new ElasticLog(lines);
    log.assertEachSampleOnce(1);
    assertThat(log.generation(2).step()).isEqualTo(5);
  }

  /** Starts a rank alone, and another one while it is in step 3; returns both. */
  private List<Future<Outcome>> joinLater(Rank a, Rank b) throws Exception {
    CountDownLatch reached = new CountDownLatch(1);
    CountDownLatch come = new CountDownLatch(1);
    a.before =
        step -> {
          if (step == 3) {
            reached.countDown();
            await(come);
          }
        };
    Future<Outcome> ofA = a.start();
    await(reached);
    Future<Outcome> ofB = b.start();
    await(CoordinatorEvent.Kind.PAUSED);
    come.countDown();
    return List.of(ofA, ofB);
  }

  private Coordinator listenForOneFirst() {
    return Coordinator.listen(
        "127.0.0.1",
        0,
        "job",
        CoordinatorOptions.of(1, 2).withSilence(Duration.ofSeconds(60)).withStart(Duration.ZERO),
        events::add);
  }

  @Test
  void aRankThatComesHasTheStateOfTheOthersBitForBit() throws Exception {
    try (Coordinator coordinator = listenForOneFirst()) {
      Rank a = new Rank(coordinator, "a");
      Rank b = new Rank(coordinator, "b");
      for (Future<Outcome> each : joinLater(a, b)) {
        assertThat(each.get()).isEqualTo(Outcome.COMPLETED);
      }
      assertThat(a.digest).isEqualTo(b.digest);
    }
    ElasticLog log = new ElasticLog(lines);
    log.assertEachSampleOnce(1);
    assertThat(log.generation(2).names()).containsExactly("a", "b");
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

  @Test
  void aRankThatCannotTakeTheStateLeavesTheOthersUnharmed() throws Exception {
    try (Coordinator coordinator = listenForOneFirst()) {
      Rank a = new Rank(coordinator, "a");
      Rank b = new Rank(coordinator, "b");
      a.part = new Unloadable(false);
      b.part = new Unloadable(true);
      List<Future<Outcome>> both = joinLater(a, b);
      assertFails(both.get(1), UserException.class);
      assertThat(both.get(0).get()).isEqualTo(Outcome.COMPLETED);
    }
    new ElasticLog(lines).assertEachSampleOnce(1);
  }

  @Test
  void freshRanksDoNotBeginAgainWhenAllThatHeldTheStateAreLost() throws Exception {
    try (Coordinator coordinator = listen(1, 1)) {
      loseTheOnlyHolder(coordinator, null, StateLostException.class);
    }
    assertThat(lines.stream().filter(line -> line.startsWith("batch 2 "))).isEmpty();
  }

  @Test
  void freshRanksContinueFromTheLastCheckpoint(@TempDir Path folder) throws Exception {
    try (Coordinator coordinator = listen(1, 1)) {
      loseTheOnlyHolder(coordinator, folder, null);
    }
    ElasticLog log = new ElasticLog(lines);
    log.assertEachSampleOnce(1);
    assertThat(log.generation(2).step()).isEqualTo(4);
  }

  private void loseTheOnlyHolder(
      Coordinator coordinator,
      @Nullable Path checkpoints,
      @Nullable Class<? extends Throwable> failure)
      throws Exception {
    Rank a = new Rank(coordinator, "a");
    Rank b = new Rank(coordinator, "b");
    a.checkpoints = checkpoints;
    b.checkpoints = checkpoints;
    CountDownLatch waits = new CountDownLatch(1);
    a.before =
        step -> {
          if (step == 5) {
            await(waits);
            throw new UserException();
          }
        };
    Future<Outcome> ofA = a.start();
    await(CoordinatorEvent.Kind.FORMED);
    Future<Outcome> ofB = b.start();
    await(CoordinatorEvent.Kind.CONNECTED);
    waits.countDown();
    assertFails(ofA, UserException.class);
    if (failure == null) {
      assertThat(ofB.get()).isEqualTo(Outcome.COMPLETED);
    } else {
      assertFails(ofB, failure);
    }
  }
}
