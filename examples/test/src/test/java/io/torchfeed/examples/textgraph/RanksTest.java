// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.distributed.launch.LaunchException;
import io.torchfeed.examples.common.CommandException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests with real ranks, each a JVM. */
@Timeout(300)
class RanksTest {
  private final Path folder;

  RanksTest(@TempDir Path folder) {
    this.folder = folder;
  }

  private Settings settings(int ranks, String data) {
    Path out = folder.resolve("out" + ranks);
    return new Settings(ranks, false, 30_000, 7, data, 10, 0.85, true, out, false);
  }

  @Test
  void anyNumberOfRanksProducesTheSameResult() throws IOException {
    String data = new EdgeFile(30_000, 7).in(folder, done -> {}).toString();
    // Adds 64-bit ids, weights, repeated edges and a vertex without outgoing edges.
    Files.writeString(
        Path.of(data),
        Files.readString(Path.of(data))
            + "18446744073709551615,1,0.5\n1,999999999999,2\n1,2,3\n1,2,4");
    List<String> first = null;
    for (int ranks : new int[] {1, 2, 4}) {
      Settings settings = settings(ranks, data);
      assertThat(Launch.run(settings)).as("equal to a single process").isZero();
      List<String> top = Files.readAllLines(settings.out().resolve("pagerank.csv"));
      assertThat(top).hasSize(1_000);
      if (first != null) {
        assertThat(value(top.get(0))).isCloseTo(value(first.get(0)), within(1e-12));
        assertThat(value(top.get(999))).isCloseTo(value(first.get(999)), within(1e-12));
      }
      first = top;
      assertThat(ImageIO.read(settings.out().resolve("ranks.png").toFile()).getWidth())
          .isEqualTo(3 * 400);
    }
  }

  private static double value(String line) {
    return Double.parseDouble(line.substring(line.indexOf(',') + 1));
  }

  @Test
  void aMalformedLineEndsTheRun() throws IOException {
    Path data = Files.writeString(folder.resolve("edges"), "1,2\n2,3\nfour,1\n5,6\n");
    assertThatThrownBy(() -> Launch.run(settings(2, data.toString())))
        .isInstanceOf(CommandException.class)
        .hasMessageContaining("rank");
  }

  @Test
  void aRankThatDiesEndsTheOthers() {
    String data = new EdgeFile(30_000, 7).in(folder, done -> {}).toString();
    assertThatThrownBy(() -> Launch.launcher(settings(2, data), DyingRank.class).build().run())
        .isInstanceOf(LaunchException.class)
        .hasMessageContaining("rank 1")
        .hasMessageContaining(Integer.toString(DyingRank.DIED));
  }
}
