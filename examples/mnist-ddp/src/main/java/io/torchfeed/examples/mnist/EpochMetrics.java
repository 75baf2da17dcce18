// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import java.util.Locale;

/**
 * The metrics of one epoch, over all ranks.
 *
 * @param epoch counted from 1
 * @param trainLoss mean over the epoch's steps
 * @param testLoss mean over the test set
 * @param testAccuracy share of the test set classified correctly, in [0, 1]
 * @param seconds seconds of training, without evaluation
 * @param rowsPerSecond samples per second, over all ranks
 * @param waitShare share of the seconds spent waiting for data, mean over ranks
 * @param reductionShare share of the seconds spent waiting for gradient reduction, mean over ranks
 * @param digest digest of the parameters, equal on every rank
 * @param bytesPerStep bytes that a rank sends per step, as the kernel of rank 0 counts them
 * @param overlapShare share of the reduction since the start that was hidden behind computation
 */
record EpochMetrics(
    int epoch,
    double trainLoss,
    double testLoss,
    double testAccuracy,
    double seconds,
    double rowsPerSecond,
    double waitShare,
    double reductionShare,
    String digest,
    double bytesPerStep,
    double overlapShare) {

  /** The first line of the CSV file. */
  static final String HEAD =
      "epoch,train_loss,test_loss,test_accuracy,seconds,rows_per_second,data_wait_share,"
          + "reduction_share,parameter_digest,bytes_per_step,overlap_share";

  private static final int COLUMNS = 11;

  String toCsv() {
    return String.format(
        Locale.ROOT,
        "%d,%.6f,%.6f,%.4f,%.3f,%.1f,%.6f,%.6f,%s,%.0f,%.6f",
        epoch,
        trainLoss,
        testLoss,
        testAccuracy,
        seconds,
        rowsPerSecond,
        waitShare,
        reductionShare,
        digest,
        bytesPerStep,
        overlapShare);
  }

  /**
   * Reads a line of the CSV file.
   *
   * @throws IllegalArgumentException if the line is malformed
   */
  static EpochMetrics parse(String line) {
    String[] cells = line.split(",", -1);
    if (cells.length != COLUMNS) {
      throw new IllegalArgumentException(
          "a line must have " + COLUMNS + " cells, got " + cells.length + ": " + line);
    }
    return new EpochMetrics(
        Integer.parseInt(cells[0]),
        Double.parseDouble(cells[1]),
        Double.parseDouble(cells[2]),
        Double.parseDouble(cells[3]),
        Double.parseDouble(cells[4]),
        Double.parseDouble(cells[5]),
        Double.parseDouble(cells[6]),
        Double.parseDouble(cells[7]),
        cells[8],
        Double.parseDouble(cells[9]),
        Double.parseDouble(cells[10]));
  }

  /** Returns the metrics as one readable line. */
  String toText(int epochs) {
    return String.format(
        Locale.ROOT,
        "epoch %d/%d: train loss %.4f, test loss %.4f, test accuracy %.2f %%, %.1f s, %.0f rows/s,"
            + " waiting for data %.2f %%, reduction %.2f %%, %.2f MB sent per step, replicas equal (%s)",
        epoch,
        epochs,
        trainLoss,
        testLoss,
        100 * testAccuracy,
        seconds,
        rowsPerSecond,
        100 * waitShare,
        100 * reductionShare,
        bytesPerStep / 1e6,
        digest.substring(0, Math.min(12, digest.length())));
  }
}
