// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EdgeFileTest {
  private static List<String> lines(long edges, long seed) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    new EdgeFile(edges, seed).write(out, done -> {});
    return out.toString(US_ASCII).lines().toList();
  }

  @Test
  void aSeedFixesTheEdges() throws IOException {
    assertThat(lines(100_000, 3)).hasSize(100_000).isEqualTo(lines(100_000, 3));
    assertThat(lines(100_000, 4)).isNotEqualTo(lines(100_000, 3));
    assertThat(lines(1, 3)).hasSize(1);
  }

  @Test
  void threadsThatCreateItConcurrentlyProduceOneFile(@TempDir Path folder) throws IOException {
    List<Path> made =
        IntStream.range(0, 4)
            .parallel()
            .mapToObj(i -> new EdgeFile(70_000, 5).in(folder, done -> {}))
            .toList();
    assertThat(made).containsOnly(folder.resolve("edges-70000-5.csv"));
    assertThat(Files.readAllLines(made.get(0))).isEqualTo(lines(70_000, 5));
    try (var files = Files.list(folder)) {
      assertThat(files).hasSize(1);
    }
  }

  @Test
  void anExistingFileIsNotCreatedAgain(@TempDir Path folder) throws IOException {
    Path file = new EdgeFile(10, 5).in(folder, done -> {});
    Files.writeString(file, "kept");
    assertThat(new EdgeFile(10, 5).in(folder, done -> {})).hasContent("kept");
  }

  /** With P(k) ~ k^-s, the k-th busiest vertex has degree ~ k^-s: the log-log slope is -s. */
  @Test
  void degreesFollowAPowerLaw() throws IOException {
    Map<String, Long> degrees =
        lines(200_000, 0).stream()
            .map(line -> line.substring(0, line.indexOf(',')))
            .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
    List<Long> sorted = new ArrayList<>(degrees.values());
    sorted.sort((a, b) -> Long.compare(b, a));
    double slope = Math.log((double) sorted.get(1_000) / sorted.get(20)) / Math.log(1_000 / 20.0);
    assertThat(slope).isBetween(-0.80, -0.65);
    assertThat(degrees).hasSizeBetween(15_000, 20_000);
  }
}
