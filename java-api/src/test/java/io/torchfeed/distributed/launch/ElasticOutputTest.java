// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.distributed.membership.CoordinatorOptions;
import io.torchfeed.testing.TestJvm;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the logs of launches, and of the output that is shown. */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ElasticOutputTest extends ElasticLaunchFixture {
  private Path logs() {
    return folder.resolve("logs");
  }

  private List<String> lines(String file) throws IOException {
    return Files.readAllLines(logs().resolve(file));
  }

  @Test
  void eachStartOfAProcessHasALogAndTheLauncherHasOne() throws Exception {
    Future<?> launch = start(launcher().elasticRanks(ranks(2, 2)).logs(logs()));
    awaitRanks("p0.1", "p1.1");
    signal("KILL", pid(1, "p1.1"));
    awaitRanks("p0.1", "p1.2");
    complete();
    launch.get();
    assertThat(files()).containsExactly("launcher.log", "p0.1.log", "p1.1.log", "p1.2.log");
    assertThat(lines("p0.1.log"))
        .filteredOn(line -> line.startsWith("torchfeed: "))
        .hasSize(2)
        .anySatisfy(line -> assertThat(line).matches(".* rank [01] of 2 in generation 1"))
        .anySatisfy(line -> assertThat(line).matches(".* rank 0 of 2 in generation 2"));
    assertThat(lines("p1.2.log")).anySatisfy(line -> assertThat(line).startsWith("rank 1 pid "));
    assertThat(lines("launcher.log"))
        .anySatisfy(line -> assertThat(line).contains("FORMED generation 1 of 2 ranks"))
        .anySatisfy(line -> assertThat(line).contains("LOST rank").contains("(p1.1) was lost"))
        .anySatisfy(line -> assertThat(line).contains("FINISHED"));
  }

  private List<String> files() throws IOException {
    try (Stream<Path> files = Files.list(logs())) {
      return files.map(file -> String.valueOf(file.getFileName())).sorted().toList();
    }
  }

  @Test
  void onlyTheRanksThatAreChosenAreShown() throws Exception {
    PrintStream before = System.out;
    ByteArrayOutputStream shown = new ByteArrayOutputStream();
    System.setOut(new PrintStream(shown, true, StandardCharsets.UTF_8));
    try {
      Future<?> launch = start(launcher().elasticRanks(ranks(2, 2)).logs(logs()).shownRanks(1));
      awaitRanks("p0.1", "p1.1");
      complete();
      launch.get();
    } finally {
      System.setOut(before);
    }
    // the launcher may learn the rank after the first line, but not after the completion
    assertThat(shown.toString(StandardCharsets.UTF_8).lines())
        .allSatisfy(line -> assertThat(line).matches("\\[p[01].1] rank 1 (pid \\d+|completed)"))
        .filteredOn(line -> line.endsWith("completed"))
        .hasSize(1);
    assertThat(List.of(lines("p0.1.log"), lines("p1.1.log")))
        .allSatisfy(log -> assertThat(log).anyMatch(line -> line.matches("rank [01] pid \\d+")));
  }

  @Test
  void ranksOfAFixedNumberHaveLogs() throws Exception {
    Launcher.builder()
        .ranks(2)
        .mainClass(ComingRank.class)
        .arguments(folder.toString(), "none=nothing")
        .environment("TORCHFEED_PROCESS_NAME", "none")
        .jvmOptions(TestJvm.SHORT_LIVED.toArray(new String[0]))
        .logs(logs())
        .build()
        .run();
    assertThat(files()).containsExactly("rank-0.log", "rank-1.log");
  }

  @Test
  void optionsThatMakeNoSenseAreRefused() {
    assertThatThrownBy(() -> Launcher.builder().mainClass("a.B").spares(1).build())
        .hasMessage("spares is an option of elasticRanks(min, max)");
    assertThatThrownBy(() -> Launcher.builder().spares(-1))
        .hasMessage("spares must be at least 0, got -1");
    assertThatThrownBy(() -> Launcher.builder().processes(0))
        .hasMessage("processes must be at least 1, got 0");
    assertThatThrownBy(() -> Launcher.builder().maxRestarts(-1))
        .hasMessage("maxRestarts must be at least 0, got -1");
    assertThatThrownBy(() -> Launcher.builder().maxRestarts(1, Duration.ZERO))
        .hasMessageContaining("per");
    assertThatThrownBy(
            () -> Launcher.builder().maxRestarts(1).maxRestarts(2, Duration.ofSeconds(1)))
        .hasMessage("maxRestarts was already set to 1");
    assertThatThrownBy(() -> Launcher.builder().mainClass("a.B").maxRestarts(1).build())
        .hasMessage("maxRestarts is an option of elasticRanks(min, max)");
    CoordinatorOptions named = CoordinatorOptions.of(1, 1).withJob("a").withEvents(event -> {});
    assertThatThrownBy(() -> Launcher.builder().elasticRanks(named).job("b"))
        .hasMessage("job was already set to a");
    assertThatThrownBy(() -> Launcher.builder().events(event -> {}).elasticRanks(named))
        .hasMessageContaining("events was already set");
    assertThatThrownBy(() -> Launcher.builder().shownRanks(0, -1))
        .hasMessage("a shown rank must be at least 0, got -1");
    assertThatThrownBy(() -> Launcher.builder().coordinator("127.0.0.1", 0))
        .hasMessage("port must be in [1, 65535], got 0");
    assertThatThrownBy(() -> Launcher.builder().listen("127.0.0.1", 65_536))
        .hasMessage("port must be in [1, 65535], got 65536");
    assertThatThrownBy(() -> Launcher.builder().listen("127.0.0.1", 0))
        .hasMessage("port must be in [1, 65535], got 0");
    assertThatThrownBy(() -> Launcher.builder().listen("a", 1).coordinator("b", 2))
        .hasMessage("the coordinator was already set to a:1");
    assertThatThrownBy(() -> Launcher.builder().job(" ")).hasMessage("job must not be blank");
    assertThatThrownBy(() -> Launcher.builder().ranks(1).elasticRanks(1, 2))
        .hasMessage("ranks was already set to 1");
    assertThatThrownBy(() -> launcher().elasticRanks(3, 4).processes(1).spares(1).build())
        .hasMessage("processes and spares must be in [3, 2147483647] together, got 2");
    assertThatThrownBy(() -> launcher().elasticRanks(1, 2).spares(Integer.MAX_VALUE).build())
        .hasMessage("processes and spares must be in [1, 2147483647] together, got 2147483649");
    assertThatThrownBy(() -> Launcher.builder().forwardSignals("HUP", "TERM"))
        .hasMessage("a forwarded signal must be one of [USR1, HUP], got 'TERM'");
    assertThatThrownBy(
            () -> Launcher.builder().elasticRanks(1, 2).listen("a", 1).mainClass("a.B").build())
        .hasMessage("job must be set, the same on all machines");
  }
}
