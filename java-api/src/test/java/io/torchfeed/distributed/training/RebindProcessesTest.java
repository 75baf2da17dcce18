// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that processes train on in a group of their own when another one was killed. */
@Timeout(value = 240, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RebindProcessesTest {
  private static final int KILLED = 137;

  private final Path folder;
  private final List<TestJvm> ranks = new ArrayList<>();

  RebindProcessesTest(@TempDir Path folder) {
    this.folder = folder;
  }

  @AfterEach
  void endRanks() {
    ranks.forEach(TestJvm::close);
  }

  @ParameterizedTest
  @ValueSource(strings = {"allReduce", "float16"})
  void thoseLeftContinueAsARunThatStartsWithTheirValues(String exchange) throws Exception {
    start(exchange, 0, List.of());
    List<String> ports = ports(ranks.get(0).await(lines -> !ports(lines).isEmpty()));
    for (int rank = 1; rank < RebindRank.RANKS; rank++) {
      start(exchange, rank, ports);
    }
    TestJvm last = ranks.get(RebindRank.RANKS - 1);
    last.await(lines -> lines.contains("trained"));
    last.signal("KILL");
    assertThat(last.exitCode()).isEqualTo(KILLED);
    for (TestJvm left : ranks.subList(0, RebindRank.RANKS - 1)) {
      assertThat(left.exitCode()).as("%s", left.output()).isZero();
      assertThat(left.output()).contains("equal");
    }
  }

  private void start(String exchange, int rank, List<String> ports) throws IOException {
    List<String> command = new ArrayList<>();
    command.addAll(List.of(RebindRank.class.getName(), exchange, String.valueOf(rank)));
    command.addAll(ports);
    ranks.add(
        TestJvm.start(
            folder,
            Map.of("OMP_NUM_THREADS", "1"),
            List.of("-Xmx128m"),
            command.toArray(String[]::new)));
  }

  /** Returns the ports in the complete line of rank 0's output that has them. */
  private static List<String> ports(List<String> lines) {
    return lines.stream()
        .filter(line -> line.startsWith("ports "))
        .map(line -> List.of(line.split(" ")))
        .filter(words -> words.size() == 2 + RebindRank.GROUPS)
        .map(words -> words.subList(1, words.size() - 1))
        .findFirst()
        .orElse(List.of());
  }
}
