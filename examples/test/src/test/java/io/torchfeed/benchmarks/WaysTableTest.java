// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

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

class WaysTableTest {
  @Test
  void aRowHasTheLastAccuracyAndTheMeansOfTheEpochs(@TempDir Path folder) throws IOException {
    WaysTable.Row row =
        WaysTable.Row.of(
            "low-precision",
            List.of(
                "epoch,test_accuracy,seconds,reduction_share,bytes_per_step",
                "1,0.97,50,0.1,2000000",
                "2,0.98,60,0.2,4000000"));
    WaysTable.Row first = new WaysTable.Row("allreduce", 0.98, 50, 6e6, 0.2);
    WaysTable comparison = new WaysTable(List.of(first, row));
    comparison.write(folder);
    assertThat(Files.readAllLines(folder.resolve("comparison.md")))
        .hasSize(4)
        .contains("| low-precision | 98.00 | 55.0 | 1.10 | 3.00 | 0.50 | 15.0 |");
    assertThat(ImageIO.read(folder.resolve("comparison.png").toFile()).getWidth())
        .isEqualTo(3 * 480);
  }

  @Test
  void eachBarHasItsName(@TempDir Path folder) throws IOException {
    List<WaysTable.Row> rows =
        IntStream.range(0, 11)
            .mapToObj(i -> new WaysTable.Row("way number " + i, 0.98, 50, 6e6, 0.2))
            .toList();
    new WaysTable(rows).write(folder);
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
  void aWayThatFailsEndsTheComparisonWithItsStatus(@TempDir Path folder) throws IOException {
    Path train = folder.resolve("train");
    Files.writeString(train, "#!/bin/sh\necho \"$@\" >>" + folder.resolve("log") + "\nexit 2\n");
    assertThat(train.toFile().setExecutable(true)).isTrue();
    CommandLine ways = WaysBenchmark.commandLine();
    String[] options = {"--train=" + train, "--ways=float16,async", "--out=o", "--ranks=0"};
    assertThat(ways.execute(options)).isEqualTo(2);
    assertThat(folder.resolve("log")).hasContent("--ranks=0 --comm=float16 --out=o/float16");
  }

  @Test
  void aWrongWayFailsBeforeTheFirstRun() {
    StringWriter output = new StringWriter();
    CommandLine ways = WaysBenchmark.commandLine().setErr(new PrintWriter(output));
    assertThat(ways.execute("--train=none", "--ways=float16,ring")).isEqualTo(2);
    assertThat(output.toString()).contains("got ring", "ways --help lists");
  }
}
