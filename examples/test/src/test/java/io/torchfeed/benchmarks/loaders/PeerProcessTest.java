// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;

import io.torchfeed.benchmarks.loaders.PeerProcess.MissingException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PeerProcessTest {
  private Path log;

  @BeforeEach
  void nameTheLog(@TempDir Path folder) {
    log = folder.resolve("log");
  }

  private PeerProcess shell(String script) throws Exception {
    return new PeerProcess(List.of("sh", "-c", script), Map.of("ANSWER", "7"), log);
  }

  @Test
  void aRequestIsAnsweredWithNumbers() throws Exception {
    try (PeerProcess peer = shell("echo ready; while read line; do echo $ANSWER 2.5 -1; done")) {
      assertThat(peer.ask("run")).containsExactly(7, 2.5, -1);
      assertThat(peer.ask("run")).containsExactly(7, 2.5, -1);
    }
  }

  @Test
  void aPeerReportsWhatIsMissing() {
    assertThatExceptionOfType(MissingException.class)
        .isThrownBy(() -> shell("echo missing torch"))
        .withMessage("torch");
  }

  @Test
  void aPeerThatFailsToStartOrExitsIsMissing() throws Exception {
    assertThatExceptionOfType(MissingException.class)
        .isThrownBy(() -> new PeerProcess(List.of("/no/such/program"), Map.of(), log))
        .withMessageContaining("/no/such/program");
    try (PeerProcess peer = shell("echo ready; read line; exit 3")) {
      assertThatExceptionOfType(MissingException.class)
          .isThrownBy(() -> peer.ask("run"))
          .withMessageContaining("ended; see " + log);
    }
  }

  @Test
  void anInvalidAnswerNamesTheLog() throws Exception {
    try (PeerProcess peer = shell("echo ready; read line; echo so what")) {
      assertThatIOException()
          .isThrownBy(() -> peer.ask("run"))
          .withMessageContaining("'run' was answered with 'so what'; see " + log);
    }
  }
}
