// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.distributed.PhaseRank.Phase;
import io.torchfeed.internal.ReservedPort;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
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
 * Tests that ranks learn of a fault of another rank in each phase of training. All phases of a test
 * run at the same time, each in a group of its own; the ranks that fail are threads of another
 * process.
 */
class PhaseFaultTest {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final long PATIENCE_SECONDS = 60;

  private final Path folder;
  private final List<Scenario> scenarios = new ArrayList<>();
  private final List<TestJvm> victims = new ArrayList<>();

  PhaseFaultTest(@TempDir Path folder) {
    this.folder = folder;
  }

  @AfterEach
  void endVictims() throws IOException {
    victims.forEach(TestJvm::close);
    for (Scenario scenario : scenarios) {
      scenario.port.close();
    }
  }

  @Test
  void aRankThatIsKilledThrowsOrIsStoppedEndsTheOthers() throws Exception {
    TestJvm killed = start("KILL", Phase.values());
    TestJvm throwing = start("THROW", Phase.values());
    start("STOP", Phase.values());
    begin();
    for (Scenario scenario : scenarios) {
      assertThat(scenario.failures())
          .as("%s", scenario)
          .hasSize(PhaseRank.RANKS - 1)
          .allMatch(PeerLostException.class::isInstance);
    }
    assertThat(killed.exitCode()).isEqualTo(137);
    assertThat(throwing.exitCode()).isZero();
    for (Phase phase : Phase.values()) {
      assertThat(throwing.output())
          .anyMatch(line -> line.matches(".*\"" + phase + "\" .*UnsupportedOperation.*"));
    }
  }

  @Test
  void abortWakesRanksThatWaitForAStoppedOne() throws Exception {
    EnumSet<Phase> phases = EnumSet.complementOf(EnumSet.of(Phase.JOIN)); // which has no group yet
    TestJvm victim = start("STOP", phases.toArray(Phase[]::new));
    begin();
    victim.awaitStop();
    for (Scenario scenario : scenarios) {
      long start = System.nanoTime();
      scenario.groups.forEach(ProcessGroup::abort);
      assertThat(scenario.failures())
          .as("%s", scenario)
          .allMatch(e -> e instanceof IllegalStateException || e instanceof PeerLostException);
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(5));
    }
  }

  /** Starts the process of the ranks that fail. */
  private TestJvm start(String signal, Phase... phases) throws IOException {
    List<String> command = new ArrayList<>();
    command.addAll(List.of(PhaseRank.class.getName(), signal, folder.resolve("go").toString()));
    for (Phase phase : phases) {
      Scenario scenario = new Scenario(phase, signal);
      scenarios.add(scenario);
      command.add(phase + "=" + scenario.port.number());
    }
    TestJvm victim =
        TestJvm.start(
            folder,
            Map.of("OMP_NUM_THREADS", "1"),
            List.of("-Xmx64m"),
            command.toArray(String[]::new));
    victims.add(victim);
    return victim;
  }

  private void begin() throws Exception {
    for (TestJvm victim : victims) {
      victim.await(lines -> lines.contains("ready"));
    }
    Files.createFile(folder.resolve("go"));
    scenarios.forEach(Scenario::begin);
  }

  /** A group of which one rank fails in a phase. */
  private static final class Scenario {
    final Queue<ProcessGroup> groups = new ConcurrentLinkedQueue<>();
    private final Phase phase;
    private final String signal;
    final ReservedPort port;
    private final List<CompletableFuture<@Nullable Throwable>> others = new ArrayList<>();

    Scenario(Phase phase, String signal) throws IOException {
      this.phase = phase;
      this.signal = signal;
      port = ReservedPort.open();
    }

    void begin() {
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
        PhaseRank.run(
            phase, Master.at("127.0.0.1", port.number()), part, TIMEOUT, groups::add, () -> {});
        return null;
      } catch (Throwable e) {
        return e;
      }
    }

    /** Returns the exceptions of the other ranks; null for one that completes. */
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
