// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.internal.ReservedPort;
import io.torchfeed.testing.RankThreads;
import io.torchfeed.testing.TestJvm;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests of messages between real ranks, each of which runs a part of {@link ExchangeRank}: a JVM
 * where the test is about the end of a process, else a thread.
 */
class ExchangeTest {
  private static final int EDGES = 40_000;

  private final Path folder;
  private final ReservedPort port;

  ExchangeTest(@TempDir Path folder) throws IOException {
    this.folder = folder;
    port = ReservedPort.open();
  }

  @AfterEach
  void releasePort() throws IOException {
    port.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 4})
  void everyMessageArrivesIntactAndTheEdgesAreThoseOfThreads(int ranks) throws Exception {
    String file = edges("").toString();
    RankThreads.run(
        ranks,
        group -> {
          ExchangeRank.messages(group);
          ExchangeRank.edges(group, file);
        });
  }

  @Test
  void aMalformedLineFailsAllRanksAndIsQuoted() throws Exception {
    String file = edges("here,3").toString();
    RankThreads.run(3, group -> ExchangeRank.malformed(group, file));
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3})
  void theOtherRanksDetectARankThatDiesWhileReading(int ranks) throws Exception {
    String file = edges("").toString();
    List<TestJvm> jvms = start(ranks, List.of(), "dies", file);
    try {
      for (int rank = 0; rank < ranks; rank++) {
        TestJvm jvm = jvms.get(rank);
        assertThat(jvm.exitCode())
            .as("%s", jvm.output())
            .isEqualTo(rank == 1 ? 9 : ExchangeRank.LOST);
      }
      assertThat(jvms.get(0).output())
          .anyMatch(line -> line.contains("was lost during all-to-all"));
    } finally {
      jvms.forEach(TestJvm::close);
    }
  }

  @ParameterizedTest
  @CsvSource({"KILL, 60000", "STOP, 3000"})
  void aPeerThatDiesOrHangsIsReported(String signal, String timeout) throws Exception {
    List<TestJvm> jvms = start(2, List.of("-Dtimeout=" + timeout), "endless");
    try {
      for (TestJvm jvm : jvms) {
        jvm.await(lines -> lines.contains("steady"));
      }
      jvms.get(1).signal(signal);
      TestJvm survivor = jvms.get(0);
      assertThat(survivor.exitCode()).as("%s", survivor.output()).isEqualTo(ExchangeRank.LOST);
      assertThat(survivor.output())
          .anyMatch(line -> line.startsWith("rank 1 was lost during all-to-all after "));
    } finally {
      jvms.forEach(TestJvm::close);
    }
  }

  /** Writes edges over few ids, with an extra line in the middle of the second of three parts. */
  private Path edges(String middle) throws IOException {
    Random random = new Random(7);
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < EDGES; i++) {
      if (i == EDGES / 2 && !middle.isEmpty()) {
        text.append(middle).append('\n');
      }
      text.append(random.nextInt(500)).append(',').append(random.nextInt(900)).append(',');
      text.append(random.nextGaussian()).append('\n');
    }
    return Files.writeString(folder.resolve("edges.csv"), text);
  }

  private List<TestJvm> start(int ranks, List<String> options, String... command)
      throws IOException {
    List<String> jvmOptions = new ArrayList<>(options);
    jvmOptions.add("-Xmx256m");
    List<String> program = new ArrayList<>(List.of(ExchangeRank.class.getName()));
    program.addAll(List.of(command));
    List<TestJvm> jvms = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      Map<String, String> variables =
          Map.of(
              "RANK", Integer.toString(rank),
              "WORLD_SIZE", Integer.toString(ranks),
              "MASTER_ADDR", "127.0.0.1",
              "MASTER_PORT", Integer.toString(port.number()),
              "OMP_NUM_THREADS", "1");
      jvms.add(TestJvm.start(folder, variables, jvmOptions, program.toArray(String[]::new)));
    }
    return jvms;
  }
}
