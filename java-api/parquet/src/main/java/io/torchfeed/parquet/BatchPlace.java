// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import io.torchfeed.parquet.ParquetException.Problem;

/**
 * The place of a batch, for messages.
 *
 * @param file its name
 * @param group the number of the row group in the file
 * @param row the number of the first row in the group
 */
record BatchPlace(String file, int group, long row) {
  /** Returns the place of a row of the batch. */
  String of(int record) {
    return "%s, row group %d, row %d".formatted(file, group, row + record);
  }

  /** Returns the exception for a value that does not fit. */
  ParquetException refused(int record, String column, String problem) {
    return new ParquetException(
        Problem.VALUE, "%s, column %s: %s".formatted(of(record), column, problem));
  }
}
