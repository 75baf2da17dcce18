// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.examples.common.OutputFile;
import java.awt.Color;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.BitmapEncoder.BitmapFormat;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;

/**
 * A table and an image of runs that differ in how the ranks train together.
 *
 * @param rows one for each run
 */
record WaysTable(List<Row> rows) {
  /**
   * One run.
   *
   * @param way how the ranks trained together
   * @param accuracy test accuracy after the last epoch, in [0, 1]
   * @param seconds seconds per epoch, mean
   * @param bytesPerStep bytes that a rank sent per step, mean
   * @param reductionShare share of the seconds spent waiting for gradients, mean
   */
  record Row(
      String way, double accuracy, double seconds, double bytesPerStep, double reductionShare) {
    /** Reads the {@code metrics.csv} of a run, which has a line for each epoch. */
    static Row of(String way, List<String> lines) {
      List<String> names = List.of(lines.get(0).split(",", -1));
      List<String[]> epochs = lines.stream().skip(1).map(line -> line.split(",", -1)).toList();
      return new Row(
          way,
          Double.parseDouble(epochs.get(epochs.size() - 1)[names.indexOf("test_accuracy")]),
          mean(epochs, names.indexOf("seconds")),
          mean(epochs, names.indexOf("bytes_per_step")),
          mean(epochs, names.indexOf("reduction_share")));
    }

    private static double mean(List<String[]> epochs, int column) {
      return epochs.stream()
          .mapToDouble(epoch -> Double.parseDouble(epoch[column]))
          .average()
          .orElse(0);
    }
  }

  String toMarkdown() {
    StringBuilder table =
        new StringBuilder(
            "| way | test accuracy, % | seconds per epoch | of the first | MB sent per rank and step |"
                + " of the first | waiting for gradients, % |\n|---|---|---|---|---|---|---|\n");
    for (Row row : rows) {
      table.append(
          String.format(
              Locale.ROOT,
              "| %s | %.2f | %.1f | %.2f | %.2f | %.2f | %.1f |%n",
              row.way,
              100 * row.accuracy,
              row.seconds,
              row.seconds / rows.get(0).seconds,
              row.bytesPerStep / 1e6,
              row.bytesPerStep / rows.get(0).bytesPerStep,
              100 * row.reductionShare));
    }
    return table.toString();
  }

  /** Writes {@code comparison.md} and {@code comparison.png} into a folder. */
  void write(Path folder) throws IOException {
    OutputFile.write(
        folder.resolve("comparison.md"), toMarkdown().getBytes(StandardCharsets.UTF_8));
    System.setProperty("java.awt.headless", "true");
    ByteArrayOutputStream png = new ByteArrayOutputStream();
    BitmapEncoder.saveBitmap(
        List.of(
            chart("Test error", "% of 10,000 classified wrongly", row -> 100 - 100 * row.accuracy),
            chart("Time", "seconds per epoch", Row::seconds),
            chart("Traffic", "MB sent per rank and step", row -> row.bytesPerStep / 1e6)),
        1,
        3,
        png,
        BitmapFormat.PNG);
    OutputFile.write(folder.resolve("comparison.png"), png.toByteArray());
  }

  /** Draws bars from zero, with the name of each below it. */
  private CategoryChart chart(String title, String unit, ToDoubleFunction<Row> value) {
    CategoryChart chart =
        new CategoryChartBuilder().width(480).height(360).title(title).yAxisTitle(unit).build();
    chart.getStyler().setLegendVisible(false);
    chart.getStyler().setChartBackgroundColor(Color.WHITE);
    chart.getStyler().setXAxisLabelRotation(90);
    chart.getStyler().setXAxisTickMarkSpacingHint(1); // by default, labels are left out
    chart.getStyler().setYAxisMin(0.0);
    chart.addSeries(
        title,
        rows.stream().map(Row::way).toList(),
        rows.stream().map(row -> (Number) value.applyAsDouble(row)).toList());
    return chart;
  }
}
