// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.StepCurve;
import io.torchfeed.summary.SummaryWriter;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MetricsTest {
  @TempDir Path folder = Path.of("");

  private static EpochMetrics row(int epoch) {
    return new EpochMetrics(
        epoch,
        0.3 / epoch,
        0.25 / epoch,
        1 - 0.1 / epoch,
        60,
        1000,
        0.001,
        0.02,
        "ab12",
        9.6e6,
        0.4);
  }

  @Test
  void aLineReadsBackAsItWasWritten() {
    EpochMetrics read = EpochMetrics.parse(row(4).toCsv());
    assertThat(read.toCsv()).isEqualTo(row(4).toCsv());
    assertThat(read.epoch()).isEqualTo(4);
    assertThat(read.testAccuracy()).isEqualTo(0.975);
  }

  @Test
  void aLineWithTheWrongNumberOfCellsIsRejected() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> EpochMetrics.parse("1,2,3"))
        .withMessageContaining("11 cells, got 3");
  }

  @Test
  void aResumedRunHasEachEpochOnce() throws IOException {
    Path file = folder.resolve("metrics.csv");
    MetricsFiles first = MetricsFiles.after(file, 0);
    for (int epoch = 1; epoch <= 3; epoch++) {
      first.add(row(epoch));
    }
    MetricsFiles resumed = MetricsFiles.after(file, 2);
    resumed.add(row(3));
    resumed.add(row(4));
    List<String> lines = Files.readAllLines(file);
    assertThat(lines.get(0)).startsWith("epoch,train_loss,test_loss,test_accuracy,seconds");
    assertThat(lines.stream().skip(1).map(line -> line.substring(0, 2)))
        .containsExactly("1,", "2,", "3,", "4,");
  }

  @Test
  void aNewRunStartsAnEmptyFile() throws IOException {
    Path file = folder.resolve("metrics.csv");
    MetricsFiles.after(file, 0).add(row(1));
    MetricsFiles.after(file, 0).add(row(1));
    assertThat(Files.readAllLines(file)).hasSize(2);
  }

  @Test
  void aCorruptFileIsAClearError() throws IOException {
    Path file = Files.writeString(folder.resolve("metrics.csv"), "epoch\nnonsense\n");
    assertThatExceptionOfType(CommandException.class)
        .isThrownBy(() -> MetricsFiles.after(file, 1))
        .withMessageContaining("metrics.csv");
  }

  private BufferedImage plotOf(MetricsFiles metrics) throws IOException {
    metrics.plot(400);
    return ImageIO.read(folder.resolve("metrics.png").toFile());
  }

  @Test
  void thePlotShowsThreePanelsSideBySide() throws IOException {
    MetricsFiles metrics = MetricsFiles.after(folder.resolve("metrics.csv"), 0);
    for (int epoch = 1; epoch <= 3; epoch++) {
      metrics.add(row(epoch));
    }
    BufferedImage image = plotOf(metrics);
    assertThat(image.getWidth()).isEqualTo(3 * 480);
    assertThat(image.getHeight()).isEqualTo(360);
  }

  /** Returns how many columns of a panel have a pixel of a strong color. */
  private static long coloredColumns(BufferedImage image, int panel) {
    return IntStream.range(480 * panel, 480 * (panel + 1))
        .filter(x -> IntStream.range(40, 280).anyMatch(y -> isColored(image.getRGB(x, y))))
        .count();
  }

  private static boolean isColored(int rgb) {
    int red = rgb >> 16 & 0xFF;
    int green = rgb >> 8 & 0xFF;
    int blue = rgb & 0xFF;
    return Math.max(red, Math.max(green, blue)) - Math.min(red, Math.min(green, blue)) > 100;
  }

  @Test
  void theLossAndTheRateOfOneEpochAreCurvesOverSteps() throws IOException {
    MetricsFiles metrics = MetricsFiles.after(folder.resolve("metrics.csv"), 0);
    metrics.add(row(1));
    BufferedImage without = plotOf(metrics);
    assertThat(coloredColumns(without, 0)).isLessThan(40);
    try (SummaryWriter curves = SummaryWriter.open(folder)) {
      for (int step = 1; step <= 400; step++) {
        curves.scalar("train/loss", 2.0 / step, step);
        curves.scalar("train/samples per second", 900 + step, step);
        curves.scalar("train/wait share", 0.5, step);
      }
    }
    BufferedImage image = plotOf(metrics);
    assertThat(coloredColumns(image, 0)).isGreaterThan(300);
    assertThat(coloredColumns(image, 1)).isLessThan(40);
    assertThat(coloredColumns(image, 2)).isGreaterThan(300);
  }

  @Test
  void aNewRunHasNoCurvesOfTheOneBefore() throws IOException {
    Path other = Files.createDirectories(folder.resolve("rank-list"));
    for (Path each : List.of(folder, folder.resolve("rank-1"))) {
      SummaryWriter.open(each).close();
      assertThat(each.resolve("scalars.csv")).exists();
    }
    StepCurve.deleteAll(folder);
    assertThat(folder.resolve("scalars.csv")).doesNotExist();
    assertThat(folder.resolve("rank-1")).doesNotExist();
    assertThat(other).exists();
    StepCurve.deleteAll(folder.resolve("none"));
  }
}
