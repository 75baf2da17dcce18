// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.distributed.PhaseRank.Phase;
import io.torchfeed.sampler.Part;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests that ranks learn of a fault of another rank in each phase of training. The rank that fails
 * is a process, the others are threads; all phases of a test run at the same time.
 */
class PhaseFaultTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final long PATIENCE_SECONDS = 60;

  private final Path folder;
  private final List<Scenario> scenarios = new ArrayList<>();

  PhaseFaultTest(@TempDir Path folder) {
    this.folder = folder;
  }

  @AfterEach
  void endVictims() {
    scenarios.forEach(scenario -> scenario.victim.close());
  }

  @Test
  void aRankThatIsKilledOrThrowsEndsTheOthers() throws Exception {
    for (Phase phase : Phase.values()) {
      start(phase, "KILL");
      start(phase, "THROW");
    }
    begin();
    for (Scenario scenario : scenarios) {
      assertThat(scenario.failures())
          .as("%s", scenario)
          .hasSize(PhaseRank.RANKS - 1)
          .allMatch(PeerLostException.class::isInstance);
      assertThat(scenario.victim.exitCode()).isEqualTo(scenario.signal.equals("KILL") ? 137 : 1);
    }
  }

  @Test
  void aRankThatIsStoppedEndsTheOthersAfterTheTimeout() throws Exception {
    for (Phase phase : Phase.values()) {
      start(phase, "STOP");
    }
    begin();
    for (Scenario scenario : scenarios) {
      assertThat(scenario.failures())
          .as("%s", scenario)
          .hasSize(PhaseRank.RANKS - 1)
          .allMatch(PeerLostException.class::isInstance);
    }
  }

  @Test
  void abortWakesRanksThatWaitForAStoppedOne() throws Exception {
    for (Phase phase : Phase.values()) {
      if (phase != Phase.JOIN) { // which has no group yet
        start(phase, "STOP");
      }
    }
    begin();
    for (Scenario scenario : scenarios) {
      scenario.victim.awaitStop();
      long start = System.nanoTime();
      scenario.groups.forEach(ProcessGroup::abort);
      assertThat(scenario.failures())
          .as("%s", scenario)
          .allMatch(e -> e instanceof IllegalStateException || e instanceof PeerLostException);
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(5));
    }
  }

  private void start(Phase phase, String signal) throws IOException {
    scenarios.add(new Scenario(phase, signal));
  }

  private void begin() throws Exception {
    for (Scenario scenario : scenarios) {
      scenario.victim.await(lines -> lines.contains("ready"));
    }
    for (Scenario scenario : scenarios) {
      scenario.begin();
    }
  }

  /** A group of which one rank fails in a phase. */
  private final class Scenario {
    final Phase phase;
    final String signal;
    final TestJvm victim;
    final Queue<ProcessGroup> groups = new ConcurrentLinkedQueue<>();
    private final int port;
    private final Path go;
    private final List<CompletableFuture<@Nullable Throwable>> others = new ArrayList<>();

    Scenario(Phase phase, String signal) throws IOException {
      this.phase = phase;
      this.signal = signal;
      go = folder.resolve(phase + signal);
      try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
        port = socket.getLocalPort();
      }
      victim =
          TestJvm.start(
              folder,
              Map.of("OMP_NUM_THREADS", "1"),
              List.of("-Xmx64m"),
              PhaseRank.class.getName(),
              phase.name(),
              signal,
              Integer.toString(port),
              go.toString());
    }

    void begin() throws IOException {
      Files.createFile(go);
      IntStream.range(0, PhaseRank.RANKS)
          .filter(rank -> rank != phase.victim())
          .forEach(
              rank -> others.add(CompletableFuture.supplyAsync(() -> failure(rank), this::run)));
    }

    private void run(Runnable body) {
      Thread thread = new Thread(body, this + " survivor");
      thread.setDaemon(true);
      thread.start();
    }

    private @Nullable Throwable failure(int rank) {
      try {
        Part part = new Part(PhaseRank.RANKS, rank);
        PhaseRank.run(phase, Master.at("127.0.0.1", port), part, TIMEOUT, groups::add, () -> {});
        return null;
      } catch (Throwable e) {
        return e;
      }
    }

    /** Returns what the other ranks throw; null for one that completes. */
    List<@Nullable Throwable> failures() throws Exception {
      List<@Nullable Throwable> failures = new ArrayList<>();
      for (CompletableFuture<@Nullable Throwable> other : others) {
        failures.add(other.get(PATIENCE_SECONDS, TimeUnit.SECONDS));
      }
      return failures;
    }

    @Override
    public String toString() {
      return phase + " " + signal;
    }
  }
}
