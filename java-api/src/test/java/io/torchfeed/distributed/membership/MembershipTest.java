// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.distributed.membership.MembershipEndedException.Reason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of coordinator and members over real connections; threads are ranks. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MembershipTest extends MembershipFixture {
  @Test
  void ranksThatCommittedMostComeFirstAndTheOthersLearnItsAddress() throws Exception {
    Coordinator coordinator = listen(ranks(2, 3));
    Membership a = join(coordinator, "a");
    Membership b = join(coordinator, "b");
    Membership c = join(coordinator, "c");
    a.commit(4);
    b.commit(7);
    Future<World> ofA = next(a, "");
    Future<World> ofB = next(b, "");
    Future<World> ofC = next(c, "");
    assertThat(ofB.get().rank()).isZero();
    assertThat(ofB.get().origin()).isEqualTo(World.Origin.RANK_ZERO);
    assertThat(ofA.get().rank()).isEqualTo(1);
    assertThat(ofC.get().rank()).isEqualTo(2);
    assertThat(ofC.get().step()).hasValue(7);
    assertThat(ofC.get().host()).isEqualTo("127.0.0.1");
    assertThat(ofC.get().port()).isEqualTo(4001);
  }

  @Test
  void oneThatWatchesGetsTheEventsFromTheCurrentGenerationOn() throws Exception {
    Coordinator coordinator = listen(ranks(1, 2));
    List<Membership> members = together(coordinator, "a", "b");
    BlockingQueue<CoordinatorEvent> watched = new LinkedBlockingQueue<>();
    Membership launcher = join(coordinator, "launcher");
    launcher.watch(watched::add);
    members.get(1).close();
    CoordinatorEvent formed = watched.take();
    assertThat(formed.kind()).isEqualTo(CoordinatorEvent.Kind.FORMED);
    assertThat(formed.generation()).isEqualTo(1);
    assertThat(formed.processes()).containsExactly("a", "b");
    CoordinatorEvent lost = watched.take();
    assertThat(lost.kind()).isEqualTo(CoordinatorEvent.Kind.LOST);
    assertThat(lost.processes()).containsExactly("b");
    assertThat(lost.text()).startsWith("rank 1 (b) was lost: ");
    while (events.take().kind() != CoordinatorEvent.Kind.LOST) {}
    assertThat(watched.take()).isEqualTo(events.take());
  }

  @Test
  void namesOfManyProcessesArriveInPieces() {
    List<String> names = IntStream.range(0, 5000).mapToObj(i -> "machine-" + i).toList();
    List<Message.Names> pieces = Message.Names.of(names);
    assertThat(pieces).hasSizeGreaterThan(1);
    assertThat(pieces).allMatch(piece -> piece.encode().length < Message.MAX_BYTES);
    assertThat(pieces.stream().flatMap(piece -> piece.processes().stream()).toList())
        .isEqualTo(names);
  }

  @Test
  void theLastThatLeavesWithTheStateKnowsIt() throws Exception {
    Coordinator coordinator = listen(ranks(1, 2));
    List<Membership> members = together(coordinator, "a", "b");
    Membership fresh = join(coordinator, "fresh");
    for (Membership each : members) {
      each.commit(1);
    }
    members.forEach(Membership::requestLeave);
    List<Boolean> last = new ArrayList<>();
    for (Membership each : members) {
      long step = 1;
      while (!each.commit(step)) {
        step++;
      }
      assertThatThrownBy(() -> each.next(""))
          .isInstanceOfSatisfying(
              MembershipEndedException.class,
              end -> {
                assertThat(end.reason()).isEqualTo(Reason.LEFT);
                last.add(end.isLastHolder());
              });
    }
    assertThat(last).containsExactly(false, true);
    assertThat(next(fresh, "").get().origin()).isEqualTo(World.Origin.CHECKPOINT);
  }

  @Test
  void aLostRankBreaksTheWorldAndTheOthersFormTheNext() throws Exception {
    Coordinator coordinator = listen(ranks(2, 3));
    List<Membership> members = together(coordinator, "a", "b", "c");
    Membership a = members.get(0);
    Membership b = members.get(1);
    Membership c = members.get(2);
    CountDownLatch aborted = new CountDownLatch(2);
    a.whenBroken(aborted::countDown);
    b.whenBroken(aborted::countDown);
    a.commit(1);
    b.commit(1);
    c.close();
    aborted.await();
    assertThat(a.broken().orElseThrow()).contains("(c) was lost: its program closed");
    assertThat(a.commit(2)).as("must leave").isTrue();
    Future<World> againOfA = next(a, "peer lost");
    Future<World> againOfB = next(b, "peer lost");
    assertThat(againOfA.get().generation()).isEqualTo(2);
    assertThat(againOfA.get().size()).isEqualTo(2);
    assertThat(againOfA.get().rank()).isZero();
    assertThat(againOfB.get().step()).hasValue(2);
  }

  @Test
  void aRankThatComesMakesTheOthersMeetAfterOneStep() throws Exception {
    Coordinator coordinator = listen(ranks(1, 3).withStart(Duration.ZERO));
    Membership a = join(coordinator, "a");
    Membership b = join(coordinator, "b");
    a.commit(10);
    Future<World> ofA = next(a, "");
    assertThat(ofA.get().size()).isEqualTo(1);
    Future<World> ofB = next(b, "");
    awaitEvent(CoordinatorEvent.Kind.PAUSED);
    long step = 10;
    while (!a.commit(++step)) {}
    assertThat(a.broken()).isEmpty();
    assertThat(next(a, "").get().size()).isEqualTo(2);
    assertThat(ofB.get().rank()).isEqualTo(1);
    assertThat(ofB.get().step()).hasValue(step);
  }

  @Test
  void ranksThatMeetAgreeOnOneLastStep() throws Exception {
    for (int round = 0; round < 20; round++) {
      Coordinator coordinator = listen(ranks(2, 3).withStart(Duration.ZERO));
      List<Membership> members = together(coordinator, "a", "b");
      Membership a = members.get(0);
      Membership b = members.get(1);
      Future<Long> lastOfA = start(() -> lastStep(a));
      Future<Long> lastOfB = start(() -> lastStep(b));
      Future<World> ofC = next(join(coordinator, "c"), "");
      assertThat(lastOfA.get()).isEqualTo(lastOfB.get());
      Future<World> againOfA = next(a, "");
      Future<World> againOfB = next(b, "");
      assertThat(ofC.get().step()).hasValue(lastOfA.get());
      assertThat(againOfA.get().size()).isEqualTo(3);
      assertThat(againOfB.get().size()).isEqualTo(3);
    }
  }

  private static long lastStep(Membership member) throws InterruptedException {
    long step = 0;
    while (!member.commit(++step)) {
      Thread.onSpinWait();
    }
    return step;
  }

  @Test
  void aRankLeavesAsPlanned() throws Exception {
    Coordinator coordinator = listen(ranks(1, 2).withStart(Duration.ofSeconds(30)));
    List<Membership> members = together(coordinator, "a", "b");
    Membership a = members.get(0);
    Membership b = members.get(1);
    b.requestLeave();
    Future<Long> lastOfA = start(() -> lastStep(a));
    Future<Long> lastOfB = start(() -> lastStep(b));
    assertThat(lastOfA.get()).isEqualTo(lastOfB.get());
    b.leave();
    assertThat(next(a, "").get().size()).isEqualTo(1);
    awaitEvent(CoordinatorEvent.Kind.LEFT);
    assertThatThrownBy(() -> b.next(""))
        .isInstanceOfSatisfying(
            MembershipEndedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.LEFT));
  }

  @Test
  void aRankThatHasAskedToLeaveIsLetGoWhereverItIs() throws Exception {
    Coordinator coordinator = listen(ranks(2, 3));
    Membership waiter = join(coordinator, "x");
    Future<World> waiting = next(waiter, "");
    waiter.requestLeave();
    assertLeft(waiting);
    List<Membership> members = together(coordinator, "a", "b", "c");
    members.get(0).requestLeave();
    members.get(2).close(); // in the middle of a step, before a last one was agreed on
    while (members.get(0).broken().isEmpty()) {
      Thread.onSpinWait();
    }
    assertLeft(next(members.get(0), "peer lost"));
  }

  private static void assertLeft(Future<World> next) {
    assertThatThrownBy(next::get)
        .cause()
        .isInstanceOfSatisfying(
            MembershipEndedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.LEFT))
        .hasMessage("this process has asked to leave");
  }

  @Test
  void aRankThatFailsSaysWhy() throws Exception {
    Coordinator coordinator = listen(ranks(1, 2));
    List<Membership> members = together(coordinator, "a", "b");
    Membership a = members.get(0);
    Membership b = members.get(1);
    b.fail("java.lang.ArithmeticException: / by zero");
    while (a.broken().isEmpty()) {
      Thread.onSpinWait();
    }
    assertThat(a.broken().orElseThrow())
        .matches("rank [01] \\(b\\) was lost: java.lang.ArithmeticException: / by zero");
  }

  @Test
  void aStateThatWasLostWithItsHoldersIsNotBegunAgain() throws Exception {
    Coordinator coordinator = listen(ranks(1, 1));
    Membership a = join(coordinator, "a");
    next(a, "").get();
    a.commit(1);
    a.close();
    Membership b = join(coordinator, "b");
    assertThat(next(b, "").get().origin()).isEqualTo(World.Origin.CHECKPOINT);
  }

  @Test
  void trainingEndsWhenAllHaveCompletedIt() throws Exception {
    Coordinator coordinator = listen(ranks(2, 2));
    List<Membership> members = together(coordinator, "a", "b");
    Membership a = members.get(0);
    Membership b = members.get(1);
    a.commit(5);
    b.commit(5);
    Future<?> endOfA =
        start(
            () -> {
              a.finish();
              return 0;
            });
    b.finish();
    endOfA.get();
    coordinator.await();
    for (int i = 0; i < 200; i++) { // each is sent away while it sends
      try (Membership late = Membership.join("127.0.0.1", coordinator.port(), named("late " + i))) {
        assertThat(late.next("")).isEmpty();
      }
    }
  }

  @Test
  void aRankThatHasCompletedItHandsTheStateToThoseThatHaveNot() throws Exception {
    Coordinator coordinator = listen(ranks(1, 3));
    List<Membership> members = together(coordinator, "a", "b", "c");
    Membership a = members.get(0);
    Membership b = members.get(1);
    Membership c = members.get(2);
    a.commit(5);
    b.commit(4);
    Future<?> end =
        start(
            () -> {
              a.finish();
              return 0;
            });
    c.close();
    assertThatThrownBy(end::get).hasCauseInstanceOf(WorldChangedException.class);
    Future<World> againOfA = next(a, "");
    Future<World> againOfB = next(b, "");
    assertThat(againOfA.get().rank()).isZero();
    assertThat(againOfB.get().step()).hasValue(5);
  }

  @Test
  void aSpareWaitsUntilARankIsLost() throws Exception {
    Coordinator coordinator = listen(ranks(1, 1));
    Membership a = join(coordinator, "a");
    next(a, "").get();
    Future<World> spare = next(join(coordinator, "spare"), "");
    assertThat(a.commit(1)).isFalse();
    assertThat(spare.isDone()).isFalse();
    a.close();
    assertThat(spare.get().generation()).isEqualTo(2);
  }

  @Test
  void tooFewRanksEndTheJob() throws Exception {
    Coordinator coordinator = listen(ranks(2, 2).withReplacement(Duration.ofSeconds(3)));
    Membership a = join(coordinator, "a");
    assertThatThrownBy(() -> a.next(""))
        .isInstanceOf(MembershipEndedException.class)
        .hasMessageContaining("1 of at least 2 ranks were there after 3000 ms");
    assertThatThrownBy(coordinator::await)
        .isInstanceOfSatisfying(
            MembershipEndedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.FAILED));
  }

  @Test
  void aRankThatDoesNotLeaveABrokenWorldIsExpelled() throws Exception {
    Coordinator coordinator = listen(ranks(1, 3).withReturn(Duration.ofSeconds(3)));
    List<Membership> members = together(coordinator, "a", "b", "c");
    Membership a = members.get(0);
    Membership b = members.get(1);
    Membership c = members.get(2);
    c.close();
    assertThat(next(a, "lost").get().size()).isEqualTo(1);
    assertThatThrownBy(() -> b.next("late"))
        .isInstanceOfSatisfying(
            MembershipEndedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.EXPELLED))
        .hasMessageContaining("did not leave the broken generation within 3000 ms");
  }

  @Test
  void aClosedMembershipIsNoneThatHasLeft() throws Exception {
    Coordinator coordinator = listen(ranks(1, 2));
    Membership waiting = join(coordinator, "a");
    Future<World> next = next(waiting, "");
    waiting.close();
    assertThatThrownBy(next::get)
        .cause()
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("this membership is closed");
    Membership left = join(coordinator, "b");
    left.leave();
    left.close();
    assertThatThrownBy(() -> left.next(""))
        .isInstanceOfSatisfying(
            MembershipEndedException.class, e -> assertThat(e.reason()).isEqualTo(Reason.LEFT));
  }

  @Test
  void aJobWithoutANameIsNoJobWithOne() throws Exception {
    try (Coordinator unnamed = Coordinator.listen("127.0.0.1", 0, ranks(1, 1));
        Membership own = Membership.join("127.0.0.1", unnamed.port())) {
      assertThat(own.next("")).isPresent();
      assertThatThrownBy(() -> Membership.join("127.0.0.1", unnamed.port(), named("a")))
          .isInstanceOf(MembershipEndedException.class)
          .hasMessage("this is the coordinator of job unnamed, not of job");
    }
    Coordinator named = listen(ranks(1, 1));
    assertThatThrownBy(() -> Membership.join("127.0.0.1", named.port()))
        .hasMessage("this is the coordinator of job job, not of unnamed");
  }

  @Test
  void aPortThatIsNoneIsRefused() {
    for (int port : new int[] {0, -1, 65_536}) {
      assertThatThrownBy(() -> Membership.join("127.0.0.1", port))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessage("port must be in [1, 65535], got %d", port);
    }
  }

  @Test
  void aLostCoordinatorEndsAllWaits() throws Exception {
    Coordinator coordinator = listen(ranks(1, 2));
    Membership a = join(coordinator, "a");
    Future<World> waiting = next(a, "");
    coordinator.close();
    assertThatThrownBy(waiting::get)
        .cause()
        .isInstanceOfSatisfying(
            MembershipEndedException.class,
            e -> assertThat(e.reason()).isEqualTo(Reason.COORDINATOR_LOST));
    assertThatThrownBy(coordinator::await).hasMessage("the coordinator was closed");
    assertThatThrownBy(
            () ->
                Membership.join(
                    "127.0.0.1",
                    coordinator.port(),
                    named("late").withTimeout(Duration.ofMillis(10))))
        .hasMessageContaining("no coordinator at 127.0.0.1:");
  }
}
