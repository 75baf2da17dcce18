// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import io.torchfeed.examples.common.OutputFile;
import java.awt.Color;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.ToLongFunction;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.BitmapEncoder.BitmapFormat;
import org.knowm.xchart.CategoryChart;
import org.knowm.xchart.CategoryChartBuilder;

/** A PNG with the bytes, lines and edges of each rank, side by side. */
final class FiguresPlot {
  private FiguresPlot() {}

  static void write(List<RankFigures> all, Path file) throws IOException {
    System.setProperty("java.awt.headless", "true");
    List<CategoryChart> charts =
        List.of(
            chart("Text read", "bytes", all, RankFigures::bytes),
            chart("Lines read", "lines", all, RankFigures::lines),
            chart("Edges owned", "edges", all, RankFigures::edges));
    ByteArrayOutputStream png = new ByteArrayOutputStream();
    BitmapEncoder.saveBitmap(charts, 1, charts.size(), png, BitmapFormat.PNG);
    OutputFile.write(file, png.toByteArray());
  }

  private static CategoryChart chart(
      String title, String unit, List<RankFigures> all, ToLongFunction<RankFigures> value) {
    CategoryChart chart =
        new CategoryChartBuilder()
            .width(400)
            .height(320)
            .title(title)
            .xAxisTitle("rank")
            .yAxisTitle(unit)
            .build();
    chart.getStyler().setLegendVisible(false);
    chart.getStyler().setChartBackgroundColor(Color.WHITE);
    chart.getStyler().setYAxisDecimalPattern("#,##0");
    chart.getStyler().setYAxisMin(0.0);
    chart.addSeries(
        unit,
        all.stream().map(RankFigures::rank).toList(),
        all.stream().map(value::applyAsLong).toList());
    return chart;
  }
}
