// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import io.torchfeed.memory.RowSpec;
import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Makes a column of rows of fixed size from leaves of a file. Immutable. */
interface ColumnSource {
  /** Returns the row of the column. */
  RowSpec row();

  /** Returns all of the description, which is part of the identity of stored rows. */
  String describe();

  /** Returns where the leaves are. */
  List<String> paths();

  /**
   * Requires leaves from which the column can be made.
   *
   * @throws ParquetException if it cannot
   */
  void require(String file, List<Leaf> leaves);

  /** Returns the part with memory, for one thread. */
  Filler filler();

  /** Fills rows. Not thread-safe. */
  interface Filler extends AutoCloseable {
    /**
     * Fills the rows of a batch.
     *
     * @param leaves in the order of the paths
     * @param into has memory for the rows from 0 on, whatever its position
     * @throws ParquetException if a value does not fit
     */
    void fill(List<LeafBatch> leaves, int count, ByteBuffer into, BatchPlace place);

    /**
     * Returns the array that begins with all elements of the rows of a batch, of the dtype's type;
     * null if there is none, and {@link #fill} makes them.
     */
    default @Nullable Object whole(List<LeafBatch> leaves, int count) {
      return null;
    }

    @Override
    default void close() {}
  }
}
