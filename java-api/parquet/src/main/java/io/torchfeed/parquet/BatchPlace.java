// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import io.torchfeed.parquet.ParquetException.Problem;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The place of a batch, for messages.
 *
 * @param file its name
 * @param group the number of the row group in the file
 * @param row the number of the first row in the group, or among those that a filter lets through
 * @param refused receives the exceptions of rows by their numbers; null to throw the first one
 */
record BatchPlace(String file, int group, long row, @Nullable Map<Long, ParquetException> refused) {
  /** Creates the place of a batch whose first value that does not fit is thrown. */
  BatchPlace(String file, int group, long row) {
    this(file, group, row, null);
  }

  /** Returns the place of a row of the batch. */
  String of(int record) {
    return "%s, row group %d, row %d".formatted(file, group, row + record);
  }

  /** Throws the exception of a row, or notes it for the one who reads the row. */
  void refuse(int record, ParquetException problem) {
    if (refused == null) {
      throw problem;
    }
    refused.putIfAbsent(row + record, problem);
  }

  /** Returns the exception for a value that does not fit. */
  ParquetException unfit(int record, String column, String problem) {
    return new ParquetException(
        Problem.VALUE, "%s, column %s: %s".formatted(of(record), column, problem));
  }
}
