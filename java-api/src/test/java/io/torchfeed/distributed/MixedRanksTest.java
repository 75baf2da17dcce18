// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.torchfeed.GuideMixed;
import io.torchfeed.distributed.rendezvous.PythonProtocol;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.RankThreads;
import io.torchfeed.testing.TestJvm;
import io.torchfeed.testing.TestPython;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of one Java rank in a group whose other ranks are Python's, and of Java ranks as such. */
@Timeout(value = 180, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MixedRanksTest {
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Duration PROMPTLY = Duration.ofSeconds(5);
  private static final int LOST = 3;

  private final Path folder;

  MixedRanksTest(@TempDir Path folder) {
    this.folder = folder;
  }

  @ParameterizedTest
  @CsvSource({"2, 0", "2, 1", "3, 1"})
  void collectivesSendWhatPythonsDo(int ranks, int javaRank) throws Exception {
    run(
        ranks,
        javaRank,
        0,
        group -> {
          MixedRank rank = new MixedRank(group);
          rank.refusals();
          rank.collectives();
        },
        "collectives");
  }

  @ParameterizedTest
  @CsvSource({
    "0, plain",
    "1, plain",
    "0, norm",
    "1, norm",
    "1, norm buckets",
    "0, norm accumulate",
    "1, unused buckets",
    "0, static buckets"
  })
  void modelsAreTrainedTogether(int javaRank, String options) throws Exception {
    run(
        2,
        javaRank,
        0,
        group -> new MixedRank(group).train(Set.of(options.split(" "))),
        ("train " + options).split(" "));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void mnistIsLearnedTogether(int javaRank) throws Exception {
    String data = MixedMnist.data().toString();
    run(2, javaRank, 0, group -> new MixedRank(group).trainMnist(), "train-mnist", data);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void anotherModelIsRefused(int javaRank) throws Exception {
    run(2, javaRank, 1, group -> new MixedRank(group).otherModel(), "other-model");
  }

  @ParameterizedTest
  @CsvSource({"2, 0", "2, 1", "3, 1"})
  void aPythonRankThatDiesIsNoticed(int ranks, int javaRank) throws Exception {
    Pythons pythons = new Pythons(ranks, javaRank, "repeat");
    try (pythons;
        PythonProcessGroup group = pythons.join()) {
      Thread killer = new Thread(pythons::killLastWhenSteady);
      killer.start();
      PeerLostException lost =
          catchThrowableOfType(PeerLostException.class, () -> new MixedRank(group).repeat());
      assertThat(lost).isNotNull();
      assertThat(lost.waited()).isLessThan(PROMPTLY);
      killer.join();
    }
  }

  @Test
  void pythonNoticesAnAbort() throws Exception {
    Pythons pythons = new Pythons(2, 0, "repeat");
    try (pythons;
        PythonProcessGroup group = pythons.join()) {
      pythons.awaitSteady();
      group.abort();
      pythons.expectExit(LOST);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void pythonNoticesAJavaRankThatDies(int javaRank) throws Exception {
    Pythons pythons = new Pythons(2, javaRank, "repeat");
    try (pythons;
        TestJvm java =
            TestJvm.start(
                folder, pythons.variables(javaRank), List.of(), MixedRank.class.getName())) {
      pythons.awaitSteady();
      java.await(lines -> lines.contains("steady"));
      java.signal("KILL");
      pythons.expectExit(LOST);
    }
  }

  @Test
  void theFilesOfTheGuideTrainTogether() throws Exception {
    Matcher python =
        Pattern.compile("<!-- python of mixed -->\n```python\n(.*?)```", Pattern.DOTALL)
            .matcher(Files.readString(Path.of("FROM_PYTORCH.md")));
    assertThat(python.find()).isTrue();
    String end = "import os, sys\nsys.stdout.flush()\nos._exit(0)\n"; // as the guide advises
    Path script = Files.writeString(folder.resolve("train.py"), python.group(1) + end);
    Pythons pythons = new Pythons(2, 1, script);
    try (pythons;
        TestJvm java =
            TestJvm.start(folder, pythons.variables(1), List.of(), GuideMixed.class.getName())) {
      assertThat(java.exitCode()).as("%s", java.output()).isZero();
      assertThat(java.output()).contains("true");
      pythons.expectExit(0);
      assertThat(pythons.output()).contains("True");
    }
  }

  @Test
  void javaRanksMeetAsPythonsDo() throws Exception {
    Master master = Master.listen("127.0.0.1");
    RankThreads.run(
        3,
        rank ->
            PythonProcessGroup.join(
                rank == 0 ? master : Master.at("127.0.0.1", master.port()),
                new Part(3, rank),
                GroupOptions.ofTimeout(MINUTE)),
        group -> new MixedRank(group).collectives());
  }

  @Test
  void settingsThatMakePythonSendMoreAreRefused() {
    Map.of(
            "TORCH_DISTRIBUTED_DEBUG",
            "DETAIL",
            "TORCH_DIST_INIT_BARRIER",
            "1",
            "TORCH_GLOO_LAZY_INIT",
            "true",
            "GLOO_SOCKET_IFNAME",
            "lo,eth0")
        .forEach(
            (name, value) ->
                assertThatIllegalArgumentException()
                    .isThrownBy(() -> PythonProtocol.check(Map.of(name, value)))
                    .withMessageContaining(name + " must not be '" + value + "'"));
    PythonProtocol.check(Map.of("TORCH_DISTRIBUTED_DEBUG", "INFO", "TORCH_DIST_INIT_BARRIER", "0"));
  }

  @FunctionalInterface
  private interface Body {
    void run(PythonProcessGroup group) throws Exception;
  }

  private void run(int ranks, int javaRank, int exitCode, Body body, String... program)
      throws Exception {
    Pythons pythons = new Pythons(ranks, javaRank, program);
    try (pythons;
        PythonProcessGroup group = pythons.join()) {
      try {
        body.run(group);
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError("Python: " + pythons.output(), e);
      }
      pythons.expectExit(exitCode);
    }
  }

  /** The ranks but one of a group, each a process. */
  private final class Pythons implements AutoCloseable {
    private final List<TestJvm> processes = new ArrayList<>();
    private final int ranks;
    private final int javaRank;
    private final Master master;

    Pythons(int ranks, int javaRank, String... program) throws IOException {
      this(ranks, javaRank, Path.of("src", "test", "python", "mixed_ranks.py"), program);
    }

    Pythons(int ranks, int javaRank, Path script, String... program) throws IOException {
      TestPython.assume();
      this.ranks = ranks;
      this.javaRank = javaRank;
      try (Master free = Master.listen("127.0.0.1")) {
        master = Master.at("127.0.0.1", free.port());
      }
      for (int rank = 0; rank < ranks; rank++) {
        if (rank != javaRank) {
          processes.add(TestPython.start(folder, variables(rank), script, program));
        }
      }
    }

    Map<String, String> variables(int rank) {
      return Map.of(
          "RANK",
          String.valueOf(rank),
          "WORLD_SIZE",
          String.valueOf(ranks),
          "MASTER_ADDR",
          master.host(),
          "MASTER_PORT",
          String.valueOf(master.port()),
          "GLOO_SOCKET_IFNAME",
          "lo");
    }

    PythonProcessGroup join() {
      return PythonProcessGroup.join(
          master, new Part(ranks, javaRank), GroupOptions.ofTimeout(MINUTE));
    }

    void awaitSteady() throws Exception {
      for (TestJvm process : processes) {
        process.await(lines -> lines.contains("steady"));
      }
    }

    void killLastWhenSteady() {
      try {
        awaitSteady();
        processes.get(processes.size() - 1).signal("KILL");
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }

    void expectExit(int code) throws Exception {
      for (TestJvm process : processes) {
        assertThat(process.exitCode()).as("%s", process.output()).isEqualTo(code);
      }
    }

    List<String> output() throws IOException {
      List<String> lines = new ArrayList<>();
      for (TestJvm process : processes) {
        lines.addAll(process.output());
      }
      return lines;
    }

    @Override
    public void close() {
      processes.forEach(TestJvm::close);
    }
  }
}
