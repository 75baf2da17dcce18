// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.distributed.rendezvous.Rendezvous;
import io.torchfeed.distributed.rendezvous.StoreConnection;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.LeakCheck;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of joining, leaving, sub-groups and the store, with threads as ranks. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ProcessGroupTest {
  private static final Duration MINUTE = Duration.ofMinutes(1);

  @Test
  void invalidArgumentsOfJoiningAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                ProcessGroup.join(
                    Master.at("localhost", 1), new Part(2, 2), GroupOptions.ofTimeout(MINUTE)))
        .withMessageContaining("Invalid rank 2");
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                ProcessGroup.join(
                    Master.at("localhost", 1),
                    new Part(2, 1),
                    GroupOptions.ofTimeout(Duration.ZERO)));
    assertThatIllegalArgumentException().isThrownBy(() -> Master.at("localhost", 0));
    assertThatIllegalArgumentException().isThrownBy(() -> Master.at(" ", 1));
    assertThatIllegalStateException().isThrownBy(() -> Master.listen("192.0.2.1"));
  }

  @Test
  void aListenerThatIsNotUsedIsClosed() {
    int port;
    try (Master master = Master.listen("localhost")) {
      port = master.port();
      assertThat(master).hasToString("localhost:" + port);
    }
    Master.at("localhost", port).close();
  }

  @Test
  void anotherRankLeavesTheListenerToRankZero() {
    try (Master master = Master.listen("localhost")) {
      assertThat(GroupJoin.listener(master, new Part(2, 1))).isEmpty();
      OptionalInt listener = GroupJoin.listener(master, new Part(2, 0));
      assertThat(listener).isPresent();
      torchfeed.close_listener(listener.getAsInt());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"abort", "close"})
  void aHungCallIsWokenAtOnce(String how) throws Exception {
    CountDownLatch over = new CountDownLatch(1);
    RankThreads.run(
        2,
        group -> {
          if (group.rank() == 1) {
            over.await();
            PeerLostException lost = catchThrowableOfType(PeerLostException.class, group::barrier);
            assertThat(lost.rank()).hasValue(0);
            return;
          }
          Work<Void> hung = group.async().barrier();
          Thread waiting =
              new Thread(() -> assertThatIllegalStateException().isThrownBy(group::barrier));
          waiting.start();
          assertThat(hung.await(Duration.ofMillis(300))).isFalse();
          long start = System.nanoTime();
          if (how.equals("abort")) {
            group.abort();
          } else {
            group.close();
          }
          assertThatIllegalStateException()
              .isThrownBy(hung::await)
              .withMessage("ProcessGroup was aborted");
          waiting.join();
          assertThat(System.nanoTime() - start).isLessThan(1_000_000_000);
          over.countDown();
          assertThatIllegalStateException().isThrownBy(group::barrier);
          assertThatIllegalStateException().isThrownBy(group::store);
          group.abort();
        });
  }

  @Test
  void aGroupMayBeClosedWhileAnotherThreadAbortsIt() throws Exception {
    for (int round = 0; round < 20; round++) {
      int pause = round;
      RankThreads.run(
          2,
          group -> {
            Thread aborting =
                new Thread(
                    () -> {
                      LockSupport.parkNanos(pause * 1_000_000L);
                      if (group.rank() == 0) {
                        group.abort();
                      }
                    });
            aborting.start();
            try {
              while (true) {
                group.barrier();
              }
            } catch (PeerLostException | IllegalStateException e) {
              group.close();
            }
            aborting.join();
          });
    }
  }

  @Test
  void subGroupsHaveRanksAndCallsOfTheirOwn() throws Exception {
    RankThreads.run(
        3,
        group -> {
          if (group.rank() != 1) {
            try (ProcessGroup ends = group.subgroup(2, 0)) {
              assertThat(ends.size()).isEqualTo(2);
              assertThat(ends.rank()).isEqualTo(group.rank() == 2 ? 0 : 1);
              assertThat(ends.allGatherLongs(new long[] {group.rank()}))
                  .isDeepEqualTo(new long[][] {{2}, {0}});
              ends.abort();
            }
            group.subgroup(2, 0).close(); // again
          }
          group.barrier();
          assertThatIllegalArgumentException()
              .isThrownBy(() -> group.subgroup((group.rank() + 1) % 3));
          assertThatIllegalArgumentException()
              .isThrownBy(() -> group.subgroup(group.rank(), group.rank()));
          assertThatIllegalArgumentException().isThrownBy(() -> group.subgroup(0, 1, 2, 3));
          try (ProcessGroup alone = group.subgroup(group.rank())) {
            alone.barrier();
            alone.store().set("own", "only " + group.rank());
            assertThat(alone.store().size()).isEqualTo(1);
          }
        });
  }

  @Test
  void aSplitGroupOutlivesItsParent() throws Exception {
    CyclicBarrier closed = new CyclicBarrier(4);
    RankThreads.run(
        4,
        group -> {
          ProcessGroup half = group.split(group.rank() % 2, -group.rank());
          group.close();
          closed.await();
          try (half) {
            assertThat(half.rank()).isEqualTo(group.rank() < 2 ? 1 : 0);
            half.barrier();
            half.store().set("key " + half.rank(), "value");
            half.store().get("key " + (1 - half.rank()), MINUTE);
            try (ProcessGroup again = half.subgroup(0, 1)) {
              assertThat(again.allGatherLongs(new long[] {group.rank()})[0])
                  .containsExactly(group.rank() % 2 + 2);
            }
          }
        });
  }

  @Test
  void aMissingMemberOfASubGroupIsNamed() throws Exception {
    CountDownLatch isOver = new CountDownLatch(1);
    RankThreads.run(
        3,
        Duration.ofSeconds(1),
        group -> {
          if (group.rank() == 0) {
            PeerLostException missing =
                catchThrowableOfType(PeerLostException.class, () -> group.subgroup(0, 1, 2));
            assertThat(missing).hasMessageContaining("1 of 3 ranks").hasMessageContaining("1, 2");
            isOver.countDown();
          } else {
            isOver.await();
          }
        });
  }

  @Test
  void aMonitoredBarrierNamesWhoIsMissing() throws Exception {
    RankThreads.run(
        3,
        group -> {
          group.monitoredBarrier(MINUTE);
          if (group.rank() != 1) {
            PeerLostException missing =
                catchThrowableOfType(
                    PeerLostException.class, () -> group.monitoredBarrier(Duration.ofMillis(200)));
            assertThat(missing.rank()).hasValue(1);
            assertThat(missing).hasMessageContaining("ranks [1] have not reached it");
          }
          group.barrier();
        });
  }

  @Test
  void aMonitoredBarrierThatFailedFailsForALateRank() throws Exception {
    RankThreads.run(
        3,
        group -> {
          boolean isLate = group.rank() == 1;
          if (isLate) {
            group.barrier();
          }
          Duration limit = isLate ? MINUTE : Duration.ofMillis(200);
          PeerLostException missing =
              catchThrowableOfType(PeerLostException.class, () -> group.monitoredBarrier(limit));
          assertThat(missing.rank()).hasValue(1);
          if (!isLate) {
            group.barrier();
          }
          group.barrier();
          group.monitoredBarrier(MINUTE);
        });
  }

  @Test
  void aMonitoredBarrierLeavesNoKeys() {
    StoreConnection connection = StoreConnection.alone(MINUTE);
    KeyValueStore store =
        new KeyValueStore(connection, "barrier/", KeyValueStoreTest.ALONE, MINUTE);
    store.barrier(new Part(1, 0), MINUTE);
    assertThat(store.size()).isZero();
    assertThatThrownBy(() -> store.barrier(new Part(2, 0), Duration.ZERO))
        .isInstanceOf(PeerLostException.class);
    assertThatThrownBy(() -> store.barrier(new Part(2, 1), MINUTE))
        .isInstanceOf(PeerLostException.class);
    assertThat(store.size()).isZero();
    connection.release();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void valuesAreSharedByName(int ranks) throws Exception {
    RankThreads.run(
        ranks,
        group -> {
          KeyValueStore store = group.store();
          store.set("of " + group.rank(), new byte[] {0, (byte) group.rank(), -1});
          int last = ranks - 1;
          assertThat(store.get("of " + last, MINUTE)).containsExactly(0, last, -1);
          store.add("sum", 5);
          group.barrier();
          assertThat(store.add("sum", 0)).isEqualTo(5L * ranks);
          assertThat(store.size()).isEqualTo(ranks + 1);
          group.barrier();
          assertThat(store.await(List.of("of 0", "never"), Duration.ofMillis(20))).isFalse();
          assertThat(store.await(List.of("never"), Duration.ofSeconds(1))).isFalse();
          if (group.rank() == 0) {
            assertThat(store.compareSet("text", "", "ü")).isEqualTo("ü");
            assertThat(store.compareSet("text", "x", "y")).isEqualTo("ü");
            store.set("empty", "");
          }
          assertThat(store.getString("text", MINUTE)).isEqualTo("ü");
          assertThat(store.getString("empty", MINUTE)).isEmpty();
          group.barrier();
          if (group.rank() == 0) {
            assertThat(store.delete("text")).isTrue();
            assertThat(store.delete("text")).isFalse();
          }
          group.barrier();
          group.close();
          assertThatIllegalStateException()
              .isThrownBy(() -> store.add("sum", 1))
              .withMessage("ProcessGroup is closed");
        });
  }

  @Test
  void aWaitForAKeyEndsWhenTheGroupIsAborted() throws Exception {
    RankThreads.run(
        1,
        group -> {
          KeyValueStore store = group.store();
          Thread aborting =
              new Thread(
                  () -> {
                    Rendezvous.sleep(100);
                    group.abort();
                  });
          aborting.start();
          assertThatIllegalStateException()
              .isThrownBy(() -> store.get("never", MINUTE))
              .withMessage("ProcessGroup was aborted");
          aborting.join();
        });
  }

  @Test
  void ranksOfRestartedAgentsMeetInAStoreWithOlderKeys() throws Exception {
    try (AgentStore agent = new AgentStore()) {
      for (int attempt = 0; attempt < 3; attempt++) {
        RankThreads.run(2, rank -> agent.join(rank, MINUTE), ProcessGroup::barrier);
      }
    }
  }

  @Test
  void ranksThatRegisteredInAnAttemptThatFailedMoveOver() throws Exception {
    try (AgentStore agent = new AgentStore()) {
      // Leaves a generation in which rank 1 is free.
      assertThatThrownBy(() -> agent.join(0, Duration.ofMillis(300)))
          .isInstanceOf(PeerLostException.class);
      Thread early = new Thread(() -> agent.join(1, MINUTE).close());
      early.start();
      Thread.sleep(300); // registers there
      agent.join(0, MINUTE).close();
      early.join();
    }
  }

  @Test
  void aRankThatIsTakenInTheAgentsStoreIsReportedAfterTheTimeout() throws Exception {
    try (AgentStore agent = new AgentStore()) {
      RankThreads.run(
          2,
          rank -> agent.join(rank, MINUTE),
          group -> {
            if (group.rank() == 0) {
              assertThatIllegalStateException()
                  .isThrownBy(() -> agent.join(1, Duration.ofMillis(300)))
                  .withMessageContaining("RANK 1 is already taken");
            }
          });
    }
  }

  /** The store of torchrun's agent, which outlives the ranks. */
  private static final class AgentStore implements AutoCloseable {
    private final Master master = Master.listen("127.0.0.1");
    private final StoreConnection store =
        StoreConnection.serve("127.0.0.1", master.port(), master.takeListener(), 0, MINUTE);

    ProcessGroup join(int rank, Duration timeout) {
      return ProcessGroup.join(
          Map.of(
              "RANK",
              String.valueOf(rank),
              "WORLD_SIZE",
              "2",
              "MASTER_ADDR",
              "127.0.0.1",
              "MASTER_PORT",
              String.valueOf(master.port()),
              "TORCHELASTIC_USE_AGENT_STORE",
              "True",
              "TORCHELASTIC_RESTART_COUNT", // of each agent; those of two machines differ
              String.valueOf(rank)),
          GroupOptions.ofTimeout(timeout));
    }

    @Override
    public void close() {
      store.release();
    }
  }
}
