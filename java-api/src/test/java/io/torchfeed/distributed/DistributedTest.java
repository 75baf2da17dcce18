// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.torchfeed.bindings.Libtorch;
import io.torchfeed.distributed.launch.Launcher;
import io.torchfeed.internal.ReservedPort;
import io.torchfeed.testing.RankThreads;
import io.torchfeed.testing.TestJvm;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests with real ranks, each of which runs a part of {@link TestRank}: a JVM where the test is
 * about the start, the end or the output of processes, else a thread.
 */
class DistributedTest {
  private static final int LOST = 3;

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void collectivesAreCorrect(int ranks) throws Exception {
    onThreads(ranks, TestRank::collectives);
  }

  @Test
  @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
  void aRankThatAbortsDoesNotWaitForAHungOne(@TempDir Path folder) throws InterruptedException {
    launch(2, "aborted", folder.resolve("ended").toString());
  }

  @Test
  void gradientsEqualThoseOfTheFullBatchOnAllRanks() throws Exception {
    onThreads(2, group -> TestRank.gradients(group, new Device("cpu")));
  }

  @Test
  @Tag("gpu")
  void ranksThatShareAGpuTrainAsThoseOfTheCpu() throws InterruptedException {
    launch(2, "gradients", DeviceGroupTest.cudaDevice());
  }

  @Test
  void replicasEqualThoseOfPyTorch() throws Exception {
    String golden = "src/test/resources/golden/python_ddp.txt";
    onThreads(2, group -> ReplicaRank.run(group, golden));
  }

  @Test
  void differentPlansAndDuplicateRanksAreRefusedOnEveryRank() throws Exception {
    onThreads(2, TestRank::plans);
  }

  @Test
  void oneRankTrainsAlone() throws InterruptedException {
    launch(1, "exit-open", "return");
  }

  @Test
  void differentShapesAreRefusedOnEveryRank() throws Exception {
    onThreads(2, TestRank::shapes);
  }

  @Test
  void anUnusedParameterIsReportedAndTheWrapperRefusesToContinue() throws Exception {
    onThreads(2, TestRank::unused);
  }

  @ParameterizedTest
  @ValueSource(strings = {"exit", "return"})
  void aProcessMayExitWithAnOpenGroup(String how) throws InterruptedException {
    launch(2, "exit-open", how);
  }

  // After its timeout, a rank waits 2 s for the words of others that wait, too.
  @ParameterizedTest
  @CsvSource({"KILL, false, 60000, 0", "KILL, true, 60000, 0", "STOP, false, 8000, 10000"})
  void aLostPeerEndsTheOthersInTime(
      String signal, String plain, String timeout, long silence, @TempDir Path folder)
      throws Exception {
    List<String> options = List.of("-Dtimeout=" + timeout, "-Dplain=" + plain);
    try (ReservedPort port = ReservedPort.open();
        TestJvm survivor = rank(folder, 0, port, options);
        TestJvm victim = rank(folder, 1, port, options)) {
      survivor.await(lines -> lines.contains("steady"));
      victim.await(lines -> lines.contains("steady"));
      long struck = System.currentTimeMillis();
      victim.signal(signal);
      assertThat(survivor.exitCode()).as("%s", survivor.output()).isEqualTo(LOST);
      List<String> lines = survivor.output();
      long noticed = Long.parseLong(word(lines, "lost at", 2));
      assertThat(noticed - struck).isLessThan(silence + 1_000);
      assertThat(lines).anyMatch(line -> line.startsWith("an earlier backward pass failed: "));
      if (plain.equals("false")) {
        assertThat(lines).anyMatch(line -> line.startsWith("rank 1 was lost during backward"));
      }
    }
  }

  @Test
  void theLogsOfRanksHaveNoAnnouncementsOfLibtorch(@TempDir Path folder) throws Exception {
    for (List<String> log : logs(folder, Map.of())) {
      assertThat(log).containsExactly("done");
    }
  }

  @Test
  void theLogLevelOfLibtorchShowsItsAnnouncements(@TempDir Path folder) throws Exception {
    for (List<String> log : logs(folder, Map.of("TORCH_CPP_LOG_LEVEL", "INFO"))) {
      assertThat(log.stream().anyMatch(line -> line.startsWith("[Gloo] Rank ")))
          .isEqualTo(Libtorch.version().startsWith("2.10.")); // later ones have no such line
      assertThat(log).anyMatch(line -> line.contains("is in beta state"));
    }
  }

  /** Returns the output of two ranks that create a sparse matrix. */
  private static List<List<String>> logs(Path folder, Map<String, String> more) throws Exception {
    String file = Files.writeString(folder.resolve("edges"), "1,2,3\n").toString();
    String[] command = {TestRank.class.getName(), "graph", file};
    try (ReservedPort port = ReservedPort.open()) {
      Map<String, String> first = variables(2, 0, port.number());
      Map<String, String> second = variables(2, 1, port.number());
      first.putAll(more);
      second.putAll(more);
      try (TestJvm one = TestJvm.start(folder, first, List.of(), command);
          TestJvm other = TestJvm.start(folder, second, List.of(), command)) {
        assertThat(one.exitCode()).as("%s", one.output()).isZero();
        assertThat(other.exitCode()).as("%s", other.output()).isZero();
        return List.of(one.output(), other.output());
      }
    }
  }

  @Test
  void aMissingRankIsReportedAfterTheTimeout() throws Exception {
    try (ReservedPort port = ReservedPort.open()) {
      Map<String, String> variables = variables(3, 0, port.number());
      PeerLostException failure =
          catchThrowableOfType(
              PeerLostException.class,
              () -> ProcessGroup.join(variables, GroupOptions.ofTimeout(Duration.ofMillis(300))));
      assertThat(failure.operation()).isEqualTo("rendezvous");
      assertThat(failure.waited()).isBetween(Duration.ofMillis(300), Duration.ofMillis(1_300));
      assertThat(failure)
          .hasMessageContaining("1 of 3 ranks reached 127.0.0.1:" + variables.get("MASTER_PORT"))
          .hasMessageContaining("missing 1, 2");
    }
  }

  @Test
  void aMissingMasterIsReportedAfterTheTimeout() throws Exception {
    try (ReservedPort port = ReservedPort.open()) {
      Map<String, String> variables = variables(2, 1, port.number());
      PeerLostException failure =
          catchThrowableOfType(
              PeerLostException.class,
              () -> ProcessGroup.join(variables, GroupOptions.ofTimeout(Duration.ofSeconds(1))));
      assertThat(failure)
          .hasMessageContaining(
              "no process serves the store at 127.0.0.1:" + variables.get("MASTER_PORT"));
      assertThat(failure.waited()).isBetween(Duration.ofMillis(900), Duration.ofSeconds(2));
    }
  }

  @Test
  void anUnresponsiveMasterIsReportedAfterTheTimeout() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
      Map<String, String> variables = variables(2, 1, silent.getLocalPort());
      PeerLostException failure =
          catchThrowableOfType(
              PeerLostException.class,
              () -> ProcessGroup.join(variables, GroupOptions.ofTimeout(Duration.ofMillis(300))));
      assertThat(failure).hasMessageContaining("does not respond");
      assertThat(failure.waited()).isBetween(Duration.ofMillis(300), Duration.ofMillis(1_800));
    }
    awaitTheEndOf("torchfeed-rendezvous"); // the closed socket frees it
  }

  @Test
  void aRankInterruptedAtTheRendezvousGivesUp() throws Exception {
    try (ReservedPort port = ReservedPort.open()) {
      Map<String, String> variables = variables(2, 0, port.number());
      Thread.currentThread().interrupt();
      assertThatIllegalStateException()
          .isThrownBy(
              () -> ProcessGroup.join(variables, GroupOptions.ofTimeout(Duration.ofMinutes(1))))
          .withMessageContaining("interrupted");
      assertThat(Thread.interrupted()).isTrue();
      awaitTheEndOf("torchfeed-rendezvous");
    }
  }

  private static void awaitTheEndOf(String thread) throws InterruptedException {
    for (Thread other : Thread.getAllStackTraces().keySet()) {
      if (other.getName().equals(thread)) {
        other.join(10_000);
        assertThat(other.isAlive()).isFalse();
      }
    }
  }

  /** Runs the ranks as threads, each with a scope of its own for the presets' objects. */
  @SuppressWarnings("try") // scope is not referenced
  private static void onThreads(int ranks, RankThreads.Body body) throws Exception {
    RankThreads.run(
        ranks,
        group -> {
          try (PointerScope scope = new PointerScope()) {
            body.run(group);
          }
        });
  }

  private static void launch(int ranks, String... arguments) throws InterruptedException {
    Launcher.builder()
        .ranks(ranks)
        .mainClass(TestRank.class)
        .jvmOptions("-Xcheck:jni")
        .jvmOptions(TestJvm.SHORT_LIVED.toArray(new String[0]))
        .arguments(arguments)
        .prefixRankZero(true)
        .build()
        .run();
  }

  private static TestJvm rank(Path folder, int rank, ReservedPort port, List<String> options)
      throws Exception {
    return TestJvm.start(
        folder, variables(2, rank, port.number()), options, TestRank.class.getName(), "train");
  }

  private static Map<String, String> variables(int worldSize, int rank, int port) {
    Map<String, String> variables = new HashMap<>();
    variables.put("RANK", Integer.toString(rank));
    variables.put("WORLD_SIZE", Integer.toString(worldSize));
    variables.put("MASTER_ADDR", "127.0.0.1");
    variables.put("MASTER_PORT", Integer.toString(port));
    variables.put("OMP_NUM_THREADS", "1");
    return variables;
  }

  private static String word(List<String> lines, String start, int index) {
    return lines.stream()
        .filter(line -> line.startsWith(start))
        .map(line -> line.split(" ", -1)[index])
        .findFirst()
        .orElseThrow();
  }
}
