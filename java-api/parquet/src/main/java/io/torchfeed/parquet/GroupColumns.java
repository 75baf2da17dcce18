// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import dev.hardwood.reader.ColumnReaders;
import dev.hardwood.reader.FilterPredicate;
import dev.hardwood.reader.ParquetFileReader;
import dev.hardwood.reader.RowGroupPredicate;
import dev.hardwood.schema.ColumnProjection;
import io.torchfeed.parquet.FilePlan.GroupPlace;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The readers of leaves in a row group, in step with each other. Not thread-safe. */
final class GroupColumns implements AutoCloseable {
  private final List<Leaf> leaves;
  private final boolean hasAll;
  private final ColumnReaders readers;

  /**
   * Opens a row group.
   *
   * @param filter of its rows; null for all
   */
  GroupColumns(
      ParquetFileReader reader,
      GroupPlace group,
      List<Leaf> leaves,
      @Nullable FilterPredicate filter,
      int batchRows) {
    this.leaves = leaves;
    // Hardwood takes a name with a dot for a path, so that all columns must be read
    hasAll = leaves.stream().anyMatch(Leaf::isDotted);
    String[] paths = leaves.stream().map(Leaf::path).distinct().toArray(String[]::new);
    ParquetFileReader.ColumnReadersBuilder builder =
        reader
            .buildColumnReaders(hasAll ? ColumnProjection.all() : ColumnProjection.columns(paths))
            .filter(RowGroupPredicate.byteRange(group.middle(), group.middle() + 1))
            .batchSize(batchRows);
    readers = (filter == null ? builder : builder.filter(filter)).build();
  }

  /** Reads the next batch; returns the number of its rows, which a filter may make 0, or -1. */
  int next() {
    return readers.nextBatch() ? readers.getRecordCount() : -1;
  }

  /** Returns the batch, in the order of the leaves. */
  List<LeafBatch> batch() {
    List<LeafBatch> batch = new ArrayList<>();
    for (Leaf leaf : leaves) {
      batch.add(
          new LeafBatch(
              leaf,
              hasAll
                  ? readers.getColumnReader(leaf.index())
                  : readers.getColumnReader(leaf.path())));
    }
    return batch;
  }

  @Override
  public void close() {
    readers.close();
  }
}
