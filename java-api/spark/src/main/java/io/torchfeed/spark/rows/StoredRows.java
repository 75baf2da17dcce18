// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.spark.RankRows;
import io.torchfeed.spark.RowColumn;
import io.torchfeed.spark.RowOrder;
import java.util.List;

/**
 * The rows of a rank in the files of a {@link RowSpool}.
 *
 * @param columns of the dataset, as an unmodifiable list
 * @param dataset owned
 * @param digest of the rows in their order
 */
record StoredRows(List<RowColumn> columns, NativeDataset dataset, String digest)
    implements RankRows {
  /** Takes ownership of the dataset, which has the rows in the order of the hashes. */
  static RankRows of(
      List<RowColumn> columns, NativeDataset dataset, HashList hashes, RowOrder order) {
    String digest = hashes.digest(columns.toString(), order);
    if (order == RowOrder.AS_DELIVERED) {
      return new StoredRows(columns, dataset, digest);
    }
    try (dataset) {
      return new StoredRows(columns, dataset.subset(hashes.placesByHash()), digest);
    }
  }

  @Override
  public void close() {
    dataset.close();
  }
}
