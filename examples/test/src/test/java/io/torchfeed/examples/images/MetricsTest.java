// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.summary.SummaryWriter;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MetricsTest {
  private static final int WIDTH = 480;

  @Test
  void ticksHaveFewDigits(@TempDir Path folder) throws IOException {
    Metrics metrics = new Metrics(folder);
    try (SummaryWriter curves = SummaryWriter.open(folder)) {
      curves.scalar("train/loss", 8 / 7.0, 1);
      curves.scalar("train/loss", 1 / 7.0, 2);
    }
    metrics.add(new Metrics.Row(1, 8 / 7.0, 1 / 7.0, 1, 2, 3));
    metrics.add(new Metrics.Row(2, 1 / 7.0, 4 / 7.0, 1, 2, 3));
    BufferedImage image = ImageIO.read(folder.resolve("metrics.png").toFile());
    int background = image.getRGB(0, 0);
    for (int chart = 0; chart < 2; chart++) {
      int left = chart * WIDTH;
      int axis =
          IntStream.range(left, left + WIDTH)
              .filter(x -> IntStream.range(60, 240).allMatch(y -> image.getRGB(x, y) != background))
              .findFirst()
              .orElseThrow();
      assertThat(axis - left).as("pixels before the axis").isLessThan(90);
    }
  }
}
