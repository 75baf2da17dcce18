// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.jspecify.annotations.Nullable;

/** The values of a DataFrame's row that become the elements of a column. */
interface ValueSource extends Serializable {
  /** Reads rows. Not thread-safe. */
  interface Reader {
    /** Writes all elements of a row; returns the problem if they do not fit. */
    @Nullable String read(InternalRow row, ElementWriter into);
  }

  /** Returns a reader for one thread. */
  Reader reader();
}
