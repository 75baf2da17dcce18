// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common;

import java.awt.Color;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.BitmapEncoder.BitmapFormat;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.style.Styler.LegendPosition;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** A chart with lines over epochs. */
public final class EpochChart {
  private final XYChart chart;

  private EpochChart(XYChart chart) {
    this.chart = chart;
  }

  /**
   * Creates a chart without lines.
   *
   * @param title above it
   * @param unit beside its axis
   * @param pattern of the numbers at the axis, such as {@code 0.00}
   * @return the chart
   */
  public static EpochChart of(String title, String unit, String pattern) {
    System.setProperty("java.awt.headless", "true");
    XYChart chart =
        new XYChartBuilder()
            .width(480)
            .height(360)
            .title(title)
            .xAxisTitle("epoch")
            .yAxisTitle(unit)
            .build();
    chart.getStyler().setLegendPosition(LegendPosition.OutsideS);
    chart.getStyler().setChartBackgroundColor(Color.WHITE);
    chart.getStyler().setYAxisDecimalPattern(pattern);
    chart.getStyler().setXAxisDecimalPattern("0");
    return new EpochChart(chart);
  }

  /**
   * Lets the axis begin at 0.
   *
   * @return this chart
   */
  public EpochChart fromZero() {
    chart.getStyler().setYAxisMin(0.0);
    return this;
  }

  /**
   * Adds a line.
   *
   * @param name of the line
   * @param epochs the numbers of the epochs
   * @param values one for each epoch
   * @return this chart
   */
  public EpochChart line(String name, double[] epochs, double[] values) {
    chart.addSeries(name, epochs, values).setMarker(SeriesMarkers.CIRCLE);
    chart.getStyler().setXAxisMin(Arrays.stream(epochs).min().orElse(1) - 0.5);
    chart.getStyler().setXAxisMax(Arrays.stream(epochs).max().orElse(1) + 0.5);
    return this;
  }

  /**
   * Writes charts side by side.
   *
   * @param png the file
   * @param charts from left to right
   * @throws IOException if it cannot be written
   */
  public static void write(Path png, EpochChart... charts) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    List<XYChart> all = Arrays.stream(charts).map(each -> each.chart).toList();
    BitmapEncoder.saveBitmap(all, 1, all.size(), bytes, BitmapFormat.PNG);
    OutputFile.write(png, bytes.toByteArray());
  }
}
