// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static org.assertj.core.api.Assertions.assertThat;

import java.awt.image.BufferedImage;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

class ComparisonTest {
  private static EpochMetrics epoch(int number, double accuracy, double seconds) {
    return new EpochMetrics(
        number, 0.3, 0.2, accuracy, seconds, 1000, 0, 0.1 * number, "ab", 2e6 * number, 0);
  }

  @Test
  void aRowHasTheLastAccuracyAndTheMeansOfTheEpochs(@TempDir Path folder) throws IOException {
    Comparison.Row row =
        Comparison.Row.of("low-precision", List.of(epoch(1, 0.97, 50), epoch(2, 0.98, 60)));
    Comparison.Row first = new Comparison.Row("allreduce", 0.98, 50, 6e6, 0.2);
    Comparison comparison = new Comparison(List.of(first, row));
    comparison.write(folder);
    assertThat(Files.readAllLines(folder.resolve("comparison.md")))
        .hasSize(4)
        .contains("| low-precision | 98.00 | 55.0 | 1.10 | 3.00 | 0.50 | 15.0 |");
    assertThat(ImageIO.read(folder.resolve("comparison.png").toFile()).getWidth())
        .isEqualTo(3 * 480);
  }

  @Test
  void eachBarHasItsName(@TempDir Path folder) throws IOException {
    List<Comparison.Row> rows =
        IntStream.range(0, 11)
            .mapToObj(i -> new Comparison.Row("way number " + i, 0.98, 50, 6e6, 0.2))
            .toList();
    new Comparison(rows).write(folder);
    BufferedImage image = ImageIO.read(folder.resolve("comparison.png").toFile());
    int names = 0;
    boolean wasName = false;
    for (int x = 60; x < 480; x++) { // of the first chart, below its axis
      int column = x;
      boolean isName =
          IntStream.range(image.getHeight() - 60, image.getHeight())
              .anyMatch(y -> (image.getRGB(column, y) & 0xff) < 0x40);
      names += isName && !wasName ? 1 : 0;
      wasName = isName;
    }
    assertThat(names).isEqualTo(rows.size());
  }

  @Test
  void aWrongOptionFailsBeforeTheFirstRun() {
    StringWriter output = new StringWriter();
    CommandLine compare = Compare.commandLine().setErr(new PrintWriter(output));
    assertThat(compare.execute("--ranks=0")).isEqualTo(2);
    assertThat(output.toString())
        .contains("--ranks must be in [1, 1024], got 0", "compare --help lists");
  }
}
