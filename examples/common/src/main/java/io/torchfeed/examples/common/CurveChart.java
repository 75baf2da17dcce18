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

/** A chart with lines over steps or epochs. */
public final class CurveChart {
  private static final int MARKERS = 40;

  private final XYChart chart;
  private double least = Double.POSITIVE_INFINITY;
  private double most = Double.NEGATIVE_INFINITY;

  private CurveChart(XYChart chart) {
    this.chart = chart;
  }

  /**
   * Creates a chart without lines.
   *
   * @param title above it
   * @param over the title of the axis below: step or epoch
   * @param unit beside the other axis
   * @param pattern of the numbers there, such as {@code 0.00}
   * @return the chart
   */
  public static CurveChart of(String title, String over, String unit, String pattern) {
    System.setProperty("java.awt.headless", "true");
    XYChart chart =
        new XYChartBuilder()
            .width(480)
            .height(360)
            .title(title)
            .xAxisTitle(over)
            .yAxisTitle(unit)
            .build();
    chart.getStyler().setLegendPosition(LegendPosition.OutsideS);
    chart.getStyler().setChartBackgroundColor(Color.WHITE);
    chart.getStyler().setYAxisDecimalPattern(pattern);
    chart.getStyler().setXAxisDecimalPattern("#,##0");
    return new CurveChart(chart);
  }

  /**
   * Lets the axis of values begin at 0.
   *
   * @return this chart
   */
  public CurveChart fromZero() {
    chart.getStyler().setYAxisMin(0.0);
    return this;
  }

  /**
   * Adds a line, with markers if it has few points; without points, nothing.
   *
   * @param name of the line
   * @param places its steps or epochs
   * @param values one for each of them
   * @return this chart
   */
  public CurveChart line(String name, double[] places, double[] values) {
    if (places.length > 0) {
      chart
          .addSeries(name, places, values)
          .setMarker(places.length > MARKERS ? SeriesMarkers.NONE : SeriesMarkers.CIRCLE)
          .setLineWidth(places.length > MARKERS ? 1.2f : 2);
      least = Math.min(least, Arrays.stream(places).min().orElseThrow());
      most = Math.max(most, Arrays.stream(places).max().orElseThrow());
      chart.getStyler().setXAxisMin(least - 0.5);
      chart.getStyler().setXAxisMax(most + 0.5);
    }
    return this;
  }

  /**
   * Adds a line over steps.
   *
   * @param name of the line
   * @param curve its points
   * @return this chart
   */
  public CurveChart line(String name, StepCurve curve) {
    return line(name, curve.steps(), curve.values());
  }

  /**
   * Writes charts side by side, those that have lines.
   *
   * @param png the file
   * @param charts from left to right
   * @throws IOException if it cannot be written
   */
  public static void write(Path png, CurveChart... charts) throws IOException {
    List<XYChart> all =
        Arrays.stream(charts)
            .filter(each -> each.least <= each.most)
            .map(each -> each.chart)
            .toList();
    if (!all.isEmpty()) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      BitmapEncoder.saveBitmap(all, 1, all.size(), bytes, BitmapFormat.PNG);
      OutputFile.write(png, bytes.toByteArray());
    }
  }
}
