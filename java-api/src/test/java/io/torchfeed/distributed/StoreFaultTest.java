// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.internal.ReservedPort;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.RankThreads;
import io.torchfeed.testing.TestJvm;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests that calls of the store end although the process that serves it has stopped. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StoreFaultTest {
  private static final Duration LIMIT = Duration.ofMillis(500);
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final long PATIENCE_MILLIS = 40_000;
  private static final Duration SHORT = Duration.ofSeconds(20); // enough to join on a busy machine
  private static final int GROUPS = 5;

  private final Path folder;

  StoreFaultTest(@TempDir Path folder) {
    this.folder = folder;
  }

  @Test
  void noCallOfTheStoreWaitsForAStoppedMaster() throws Exception {
    List<ReservedPort> ports = new ArrayList<>();
    List<ProcessGroup> groups = new ArrayList<>();
    Path strike = folder.resolve("strike");
    String[] command = new String[4 + GROUPS];
    command[0] = CollectiveFault.class.getName();
    command[1] = "STOP";
    command[2] = folder.resolve("go").toString();
    command[3] = strike.toString();
    for (int i = 0; i < GROUPS; i++) {
      ports.add(ReservedPort.open());
      command[4 + i] = "0=2=" + ports.get(i).number();
    }
    try (TestJvm master =
        TestJvm.start(folder, Map.of("OMP_NUM_THREADS", "1"), List.of("-Xmx64m"), command)) {
      master.await(lines -> lines.contains("ready"));
      Files.createFile(folder.resolve("go"));
      for (int i = 0; i < GROUPS; i++) {
        Master there = Master.at("127.0.0.1", ports.get(i).number());
        Duration timeout = i == 4 ? SHORT : LONG;
        groups.add(ProcessGroup.join(there, new Part(2, 1), GroupOptions.ofTimeout(timeout)));
      }
      Files.createFile(strike);
      master.awaitStop();
      KeyValueStore store = groups.get(4).store();
      CompletableFuture<Void> set = // meanwhile, for it waits for all of SHORT
          CompletableFuture.runAsync(
              () -> assertRank0IsLost(() -> store.set("a key", "a value"), "does not answer"));
      assertRank0IsLost(() -> groups.get(0).monitoredBarrier(LIMIT), "does not answer");
      assertRank0IsLost(() -> groups.get(0).store().get("a key", LIMIT), "does not answer");
      assertEnds(groups.get(1), (group, thread) -> group.abort());
      assertEnds(groups.get(2), (group, thread) -> group.close());
      assertEnds(groups.get(3), (group, thread) -> thread.interrupt());
      set.get();
    } finally {
      groups.forEach(ProcessGroup::close);
      for (ReservedPort each : ports) {
        each.close();
      }
      awaitStoreThreads();
    }
  }

  private static void assertRank0IsLost(Runnable call, String reason) {
    assertThat(failureOf(call))
        .isInstanceOfSatisfying(
            PeerLostException.class, e -> assertThat(e.rank()).as("%s", e).hasValue(0))
        .hasMessageContaining("rank 0 was lost")
        .hasMessageContaining(reason);
  }

  @Test
  void aMasterThatIsKilledIsNamedByAllCalls() throws Exception {
    ExecutorService threads = Executors.newCachedThreadPool();
    Path strike = folder.resolve("strike");
    Path go = folder.resolve("go");
    List<Future<ProcessGroup>> joining = new ArrayList<>();
    try (ReservedPort ofTwo = ReservedPort.open();
        ReservedPort ofThree = ReservedPort.open();
        TestJvm master =
            TestJvm.start(
                folder,
                Map.of("OMP_NUM_THREADS", "1"),
                List.of("-Xmx64m"),
                CollectiveFault.class.getName(),
                "KILL",
                go.toString(),
                strike.toString(),
                "0=2=" + ofTwo.number(),
                "0=3=" + ofThree.number())) {
      master.await(lines -> lines.contains("ready"));
      Files.createFile(go);
      joining.add(threads.submit(() -> join(ofTwo, new Part(2, 1))));
      joining.add(threads.submit(() -> join(ofThree, new Part(3, 1))));
      joining.add(threads.submit(() -> join(ofThree, new Part(3, 2))));
      for (Future<ProcessGroup> each : joining) {
        each.get().store().set("of " + each.get().size(), "a value");
      }
      Future<ProcessGroup> pair =
          threads.submit(() -> joining.get(2).get().subgroup(1, 2)); // without rank 0
      try (ProcessGroup withoutMaster = joining.get(1).get().subgroup(1, 2)) {
        Files.createFile(strike);
        master.exitCode();
        for (Future<ProcessGroup> each : joining) {
          KeyValueStore store = each.get().store();
          assertRank0IsLost(() -> store.get("a key", LONG), "the store was lost");
          assertRank0IsLost(() -> store.set("a key", "a value"), "the store was lost");
          assertRank0IsLost(() -> store.add("a number", 1), "the store was lost");
          assertRank0IsLost(() -> store.await(List.of("a key"), LONG), "the store was lost");
        }
        assertThat(failureOf(() -> withoutMaster.store().get("a key", LONG)))
            .isInstanceOfSatisfying(
                PeerLostException.class, e -> assertThat(e.rank()).as("%s", e).isEmpty());
        pair.get().close();
      }
    } finally {
      try {
        closeAll(joining);
      } finally {
        threads.shutdownNow();
      }
    }
  }

  /** Closes the groups that have been joined; the test throws the failures of others. */
  private static void closeAll(List<Future<ProcessGroup>> joining) throws InterruptedException {
    for (Future<ProcessGroup> each : joining) {
      if (each.isDone()) {
        ProcessGroup group;
        try {
          group = each.get();
        } catch (ExecutionException e) {
          continue;
        }
        group.close();
      }
    }
  }

  @Test
  void aRankIsNamedIfTheMasterIsKilledWithAnother() throws Exception {
    Path strike = folder.resolve("strike");
    Path go = folder.resolve("go");
    try (ReservedPort port = ReservedPort.open();
        TestJvm others =
            TestJvm.start(
                folder,
                Map.of("OMP_NUM_THREADS", "1"),
                List.of("-Xmx64m"),
                CollectiveFault.class.getName(),
                "KILL",
                go.toString(),
                strike.toString(),
                "0=3=" + port.number(),
                "2=3=" + port.number())) {
      others.await(lines -> lines.contains("ready"));
      Files.createFile(go);
      try (ProcessGroup group = join(port, new Part(3, 1))) {
        Files.createFile(strike);
        others.exitCode();
        assertThat(failureOf(() -> group.store().get("a key", LONG)))
            .isInstanceOfSatisfying(
                PeerLostException.class, e -> assertThat(e.rank()).as("%s", e).isPresent());
      }
    }
  }

  private static ProcessGroup join(ReservedPort port, Part part) {
    return ProcessGroup.join(
        Master.at("127.0.0.1", port.number()), part, GroupOptions.ofTimeout(LONG));
  }

  @Test
  void aRankThatHasLeftIsNotTheLostOne() throws Exception {
    CountDownLatch hasLeft = new CountDownLatch(1);
    CountDownLatch isChecked = new CountDownLatch(1);
    CountDownLatch isOver = new CountDownLatch(1);
    RankThreads.run(
        3,
        group -> {
          if (group.rank() == 2) {
            group.close();
            hasLeft.countDown();
          } else if (group.rank() == 1) {
            hasLeft.await();
            @Nullable Throwable missing = failureOfUnsetKey(group);
            isChecked.countDown();
            @Nullable Throwable failure = failureOf(() -> group.store().get("a key", LONG));
            isOver.countDown();
            assertThat(missing)
                .isInstanceOfSatisfying(
                    PeerLostException.class, e -> assertThat(e.rank()).as("%s", e).isEmpty());
            assertThat(failure)
                .isInstanceOfSatisfying(
                    PeerLostException.class, e -> assertThat(e.rank()).as("%s", e).hasValue(0));
          } else {
            isChecked.await();
            group.close();
          }
          isOver.await();
        });
  }

  /** Returns the failure of a call in which the store, which may be late at first, has answered. */
  private static @Nullable Throwable failureOfUnsetKey(ProcessGroup group) {
    @Nullable Throwable failure;
    do {
      failure = failureOf(() -> group.store().get("a key", LIMIT));
    } while (failure instanceof PeerLostException late
        && String.valueOf(late.getMessage()).contains("does not answer"));
    return failure;
  }

  /** Waits for the calls that the end of the master's process has ended. */
  private static void awaitStoreThreads() throws InterruptedException {
    for (Thread thread : Thread.getAllStackTraces().keySet()) {
      if (thread.getName().equals("torchfeed-store")) {
        thread.join(20_000);
      }
    }
  }

  /** Checks that a wake ends a call long before its limit. */
  private static void assertEnds(ProcessGroup group, BiConsumer<ProcessGroup, Thread> wake)
      throws Exception {
    @Nullable Throwable[] failure = new Throwable[1];
    KeyValueStore store = group.store();
    Thread waiting = new Thread(() -> failure[0] = failureOf(() -> store.get("a key", LONG)));
    waiting.start();
    Thread.sleep(200);
    assertThat(failure[0]).isNull();
    long start = System.nanoTime();
    wake.accept(group, waiting);
    waiting.join(PATIENCE_MILLIS);
    assertThat(failure[0]).isInstanceOf(IllegalStateException.class);
    assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(2));
  }

  private static @Nullable Throwable failureOf(Runnable call) {
    long start = System.nanoTime();
    try {
      call.run();
      return null;
    } catch (RuntimeException e) {
      assertThat((System.nanoTime() - start) / 1_000_000).isLessThan(PATIENCE_MILLIS);
      return e;
    }
  }
}
