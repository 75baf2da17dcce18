// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import io.torchfeed.data.SampleWriter;
import io.torchfeed.parquet.StorePlan.Piece;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Consecutive rows of a row group in memory, and the order of their delivery. Not thread-safe. */
final class Window implements AutoCloseable {
  private static final long GAMMA = 0x9E3779B97F4A7C15L; // an odd number of mixed bits

  private final StreamRule rule;
  private final int batchRows;
  private final int windowRows;
  private final List<ColumnSource> sources;
  private final List<WindowColumn> columns = new ArrayList<>();
  private final Map<Long, ParquetException> refused = new HashMap<>();
  private final long @Nullable [] order;
  private long first;
  private int rows;

  Window(StreamRule rule) {
    this.rule = rule;
    batchRows = rule.batchRows();
    windowRows = rule.windowRows();
    sources = rule.plan().sources();
    for (ColumnSource source : sources) {
      columns.add(new WindowColumn(columns.size(), source, windowRows, batchRows));
    }
    order = rule.isShuffled() ? new long[windowRows] : null;
  }

  /** Returns how many rows there are. */
  int rows() {
    return rows;
  }

  /** Forgets all rows. */
  void clear() {
    rows = 0;
    refused.clear();
  }

  /**
   * Reads rows from the next batch of a row group on. A window ends where another batch may not
   * fit, so that each begins with a batch.
   *
   * @return false if the group has no more
   */
  boolean fill(GroupReader.Group group, Piece piece, long epoch) {
    clear();
    while (rows + batchRows <= windowRows && group.next()) {
      first = rows == 0 ? group.row() : first;
      BatchPlace place =
          new BatchPlace(piece.file().name(), piece.group().number(), group.row(), refused);
      fill(group.batch(), group.count(), place);
      rows += group.count();
    }
    if (order != null && rows > 0) {
      long seed = rule.seed() + GAMMA * (piece.firstRow() + first + 1);
      try (var shuffled = ShuffledSampler.of(rows, seed).epoch(epoch)) {
        shuffled.next(order, 0, rows);
      }
      for (WindowColumn column : columns) {
        column.shuffle(order, rows);
      }
    }
    return rows > 0;
  }

  private void fill(List<LeafBatch> leaves, int count, BatchPlace place) {
    int from = 0;
    for (int i = 0; i < sources.size(); i++) {
      int to = from + sources.get(i).paths().size();
      columns.get(i).fill(leaves.subList(from, to), rows, count, place);
      from = to;
    }
  }

  /**
   * Returns how many rows follow each other, from a place in the order on, without one that does
   * not fit.
   */
  int goodRows(int from, int max) {
    int count = Math.min(max, rows - from);
    if (!refused.isEmpty()) {
      for (int i = 0; i < count; i++) {
        if (refusal(from + i) != null) {
          return i;
        }
      }
    }
    return count;
  }

  /** Returns why the row at a place in the order does not fit; null if it does. */
  @Nullable ParquetException refusal(int at) {
    return refused.get(first + (order == null ? at : order[at]));
  }

  /** Writes rows that follow each other in the order. */
  void put(int from, int count, SampleWriter into) {
    for (WindowColumn column : columns) {
      column.put(from, count, into);
    }
  }

  @Override
  public void close() {
    columns.forEach(WindowColumn::close);
  }
}
