// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.distributed.CollectiveFault.Call;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.TestJvm;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Tests how long each operation takes to fail after a fault of the last rank, which has not called
 * it, and prints the longest times. By default with 3 ranks; with 2, 3 and 4 ranks, every root, and
 * with and without checks by
 *
 * <pre>{@code
 * mvn verify -pl java-api/test -am -Dtest=CollectiveFaultTest -Dtorchfeed.faults=all
 * }</pre>
 */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CollectiveFaultTest {
  private static final boolean IS_WHOLE = "all".equals(System.getProperty("torchfeed.faults"));
  private static final Duration LONG = Duration.ofMinutes(2);
  private static final Duration SHORT = Duration.ofSeconds(5);
  private static final int AT_ONCE = 12;
  private static final long PATIENCE_SECONDS = 60;

  private final Path folder;

  CollectiveFaultTest(@TempDir Path folder) {
    this.folder = folder;
  }

  /** A fault, and the milliseconds within which the others are to fail. */
  enum Fault {
    KILL(10_000),
    THROW(10_000),
    STOP(15_000),
    ABORT(2_000),
    CLOSE(2_000),
    INTERRUPT(2_000);

    private final long limit;

    Fault(long limit) {
      this.limit = limit;
    }

    boolean isSignal() {
      return this == KILL || this == STOP;
    }

    boolean isOwn() {
      return compareTo(ABORT) >= 0;
    }
  }

  record Case(Call call, int size, int root, boolean isChecked) {}

  @ParameterizedTest
  @EnumSource
  void everyRankFailsInTime(Fault fault) throws Exception {
    List<Case> cases = cases();
    Map<Call, Long> worst = new EnumMap<>(Call.class);
    for (int i = 0; i < cases.size(); i += AT_ONCE) {
      List<Case> some = cases.subList(i, Math.min(i + AT_ONCE, cases.size()));
      List<Scenario> scenarios = new ArrayList<>();
      for (Case each : some) {
        scenarios.add(new Scenario(each, fault));
      }
      long strike = fault.isSignal() ? strikeBySignal(fault, scenarios, i) : strikeHere(scenarios);
      for (Scenario scenario : scenarios) {
        long took = scenario.longest(strike);
        worst.merge(scenario.test.call(), took, Math::max);
      }
    }
    System.out.println(fault + ", longest ms of " + cases.size() + " cases: " + worst);
  }

  private static List<Case> cases() {
    List<Case> cases = new ArrayList<>();
    for (int size : IS_WHOLE ? new int[] {2, 3, 4} : new int[] {3}) {
      for (Call call : Call.values()) {
        for (int root = 0; root < (IS_WHOLE && call.hasRoot() ? size : 1); root++) {
          cases.add(new Case(call, size, root, true));
          if (IS_WHOLE && call != Call.SUBGROUP && call != Call.ALL_GATHER_BYTES) {
            cases.add(new Case(call, size, root, false));
          }
        }
      }
    }
    return cases;
  }

  private static long strikeHere(List<Scenario> scenarios) throws Exception {
    for (Scenario scenario : scenarios) {
      scenario.begin();
    }
    for (Scenario scenario : scenarios) {
      scenario.awaitCalls();
    }
    for (Scenario scenario : scenarios) {
      scenario.strike();
    }
    return 0;
  }

  private long strikeBySignal(Fault fault, List<Scenario> scenarios, int number) throws Exception {
    Path go = folder.resolve("go" + number);
    Path strike = folder.resolve("strike" + number);
    List<String> command = new ArrayList<>();
    command.add(CollectiveFault.class.getName());
    command.addAll(List.of(fault.name(), go.toString(), strike.toString()));
    for (Scenario scenario : scenarios) {
      int size = scenario.test.size();
      command.add(size - 1 + "=" + size + "=" + scenario.master.port());
    }
    try (TestJvm victim =
        TestJvm.start(
            folder,
            Map.of("OMP_NUM_THREADS", "1"),
            List.of("-Xmx64m"),
            command.toArray(String[]::new))) {
      victim.await(lines -> lines.contains("ready"));
      for (Scenario scenario : scenarios) {
        scenario.begin();
      }
      Files.createFile(go);
      for (Scenario scenario : scenarios) {
        scenario.awaitCalls();
      }
      Files.createFile(strike);
      List<String> lines =
          victim.await(all -> all.stream().anyMatch(line -> line.startsWith("strike")));
      String last = lines.get(lines.size() - 1);
      for (Scenario scenario : scenarios) {
        scenario.awaitAll(); // before the victim is closed
      }
      return Long.parseLong(last.split(" ", -1)[1]);
    }
  }

  /** A group whose ranks, except for the last, make a call. */
  private static final class Scenario {
    final Case test;
    final Master master = Master.listen("127.0.0.1");
    final CountDownLatch joined;
    private final Fault fault;
    private final List<CompletableFuture<Outcome>> others = new ArrayList<>();
    private final CountDownLatch over = new CountDownLatch(1);
    private final List<Thread> threads = new ArrayList<>();
    private final ProcessGroup[] groups;
    private long struck;

    private record Outcome(@Nullable Throwable failure, long end) {}

    Scenario(Case test, Fault fault) {
      this.test = test;
      this.fault = fault;
      groups = new ProcessGroup[test.size()];
      joined = new CountDownLatch(fault.isSignal() ? test.size() - 1 : test.size());
    }

    void begin() {
      for (int rank = 0; rank < joined.getCount(); rank++) {
        int own = rank;
        CompletableFuture<Outcome> outcome = new CompletableFuture<>();
        boolean isVictim = own == test.size() - 1;
        Thread thread = new Thread(() -> run(own, isVictim, outcome), this + " " + own);
        thread.setDaemon(true);
        threads.add(thread);
        if (!isVictim) {
          others.add(outcome);
        }
      }
      threads.forEach(Thread::start);
    }

    private void run(int rank, boolean isVictim, CompletableFuture<Outcome> outcome) {
      Duration timeout = fault == Fault.STOP ? SHORT : LONG;
      Master there = rank == 0 ? master : Master.at("127.0.0.1", master.port());
      try (ProcessGroup group =
          ProcessGroup.join(there, new Part(test.size(), rank), GroupOptions.ofTimeout(timeout))) {
        groups[rank] = group;
        joined.countDown();
        if (!isVictim) {
          Throwable failure = failure(group);
          outcome.complete(new Outcome(failure, System.nanoTime()));
        }
        Thread.interrupted();
        over.await(); // a rank that has failed keeps its group open
      } catch (Exception e) {
        outcome.completeExceptionally(e);
      }
    }

    private @Nullable Throwable failure(ProcessGroup group) {
      try {
        test.call().run(group, test.isChecked(), test.root());
        return null;
      } catch (RuntimeException e) {
        return e;
      }
    }

    /** Waits until the ranks are in their calls, except for one that has already returned. */
    void awaitCalls() throws InterruptedException {
      joined.await();
      for (int rank = 0; rank < others.size(); rank++) {
        CompletableFuture<Outcome> other = others.get(rank);
        while (!other.isDone() && !NativeWait.isReached(threads.get(rank))) {
          Thread.sleep(2);
        }
      }
    }

    void awaitAll() throws Exception {
      for (CompletableFuture<Outcome> other : others) {
        other.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
      }
    }

    void strike() {
      struck = System.nanoTime();
      int last = test.size() - 1;
      switch (fault) {
        case THROW -> groups[last].close();
        case ABORT -> survivors(rank -> groups[rank].abort());
        case CLOSE -> survivors(rank -> groups[rank].close());
        case INTERRUPT -> survivors(rank -> threads.get(rank).interrupt());
        default -> throw new AssertionError(fault);
      }
    }

    private void survivors(Consumer<Integer> action) {
      IntStream.range(0, test.size() - 1).boxed().forEach(action);
    }

    /**
     * Checks the exceptions of the ranks; returns the milliseconds after which the last one did.
     */
    long longest(long strike) throws Exception {
      long took = 0;
      for (CompletableFuture<Outcome> other : others) {
        Outcome outcome = other.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        check(outcome.failure());
        took = Math.max(took, (outcome.end() - (struck == 0 ? strike : struck)) / 1_000_000);
      }
      assertThat(took).as("%s", this).isLessThan(fault.limit);
      over.countDown();
      for (Thread thread : threads) {
        thread.join(PATIENCE_SECONDS * 1_000);
      }
      return took;
    }

    private void check(@Nullable Throwable failure) {
      if (failure == null) { // a rank that does not need the lost one
        assertThat(test.call().hasRoot() && !test.isChecked()).as("%s", this).isTrue();
      } else if (fault.isOwn()) {
        assertThat(failure)
            .as("%s", this)
            .isInstanceOfAny(PeerLostException.class, IllegalStateException.class);
      } else {
        assertThat(failure).as("%s", this).isInstanceOf(PeerLostException.class);
        if (fault != Fault.STOP && test.call() != Call.SUBGROUP) {
          assertThat(((PeerLostException) failure).rank()).as("%s", this).hasValue(test.size() - 1);
        }
      }
    }

    @Override
    public String toString() {
      return fault + " " + test;
    }
  }
}
