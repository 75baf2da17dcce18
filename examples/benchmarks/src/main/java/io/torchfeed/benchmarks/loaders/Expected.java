// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.io.IOException;
import java.util.Arrays;

/** The expected sums of an epoch of a row, computed from its files. */
record Expected(long rows, long labels, double data, double tolerance) {
  /** The relative tolerance: a float has 24 bits, and partial sums are rounded. */
  private static final double PRECISION = 1e-5;

  static Expected of(RowData source) throws IOException {
    Row row = source.row();
    float[] normalized = RowData.normalized();
    double sum = 0;
    double absolute = 0;
    for (byte each : source.bytes()) {
      int value = each & 0xFF;
      double element = row == Row.A ? value / 255f : row == Row.C ? normalized[value] : value;
      sum += element;
      absolute += Math.abs(element);
    }
    long labels = 0;
    if (row != Row.D) {
      for (long label : source.labels()) {
        labels += label;
      }
    }
    return new Expected(row.rows(), labels, sum, absolute * PRECISION);
  }

  /** Throws if the sums differ, because the loader then returned other rows. */
  void require(Entry entry, double... seen) {
    if (seen.length != 3
        || (long) seen[0] != rows
        || (long) seen[1] != labels
        || Math.abs(seen[2] - data) > tolerance) {
      throw new IllegalStateException(
          "%s with %s loads other rows: expected %s, got %s"
              .formatted(entry.contestant(), entry.settingText(), this, Arrays.toString(seen)));
    }
  }
}
