// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import dev.hardwood.HardwoodContext;
import dev.hardwood.reader.ParquetFileReader;
import io.torchfeed.parquet.FilePlan.GroupPlace;
import io.torchfeed.parquet.ParquetException.Problem;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads row groups in batches; keeps the last file open. Not thread-safe. */
final class GroupReader implements AutoCloseable {
  private final HardwoodContext context;
  private final int batchRows;
  private @Nullable FilePlan file;
  private @Nullable SourceInput input;
  private @Nullable ParquetFileReader reader;

  /** Reads batches of at most this many rows. */
  GroupReader(HardwoodContext context, int batchRows) {
    this.context = context;
    this.batchRows = batchRows;
  }

  /** Receives batches. */
  interface Batches {
    /**
     * Receives a batch.
     *
     * @param leaves in the order of those asked for
     */
    void take(List<LeafBatch> leaves, int count, BatchPlace place) throws IOException;
  }

  /**
   * Reads a row group.
   *
   * @param leaves the only ones that are read
   * @throws ParquetException if it cannot be read, or has another number of rows
   * @throws IOException if the receiver throws one
   */
  void read(FilePlan plan, GroupPlace group, List<Leaf> leaves, Batches batches)
      throws IOException {
    String place = "%s, row group %d".formatted(plan.name(), group.number());
    ParquetFileReader opened = open(plan);
    long rows = 0;
    try (GroupColumns columns = columns(opened, group, leaves, place)) {
      for (int count = next(columns, place); count > 0; count = next(columns, place)) {
        BatchPlace at = new BatchPlace(plan.name(), group.number(), rows);
        batches.take(batchOf(columns, place), count, at);
        rows += count;
      }
    }
    if (Thread.currentThread().isInterrupted()) {
      throw new ParquetException(Problem.FILE, place + ": reading was interrupted");
    }
    if (rows != group.rows()) {
      throw new ParquetException(
          Problem.FILE, "%s must have %d rows, got %d".formatted(place, group.rows(), rows));
    }
    if (input != null) {
      plan.requireSame(input);
    }
  }

  private GroupColumns columns(
      ParquetFileReader opened, GroupPlace group, List<Leaf> leaves, String place) {
    try {
      return new GroupColumns(opened, group, leaves, batchRows);
    } catch (RuntimeException e) {
      throw FilePlan.failed(place, e);
    }
  }

  private static int next(GroupColumns columns, String place) {
    try {
      return columns.next();
    } catch (RuntimeException e) {
      throw FilePlan.failed(place, e);
    }
  }

  private static List<LeafBatch> batchOf(GroupColumns columns, String place) {
    try {
      return columns.batch();
    } catch (RuntimeException e) {
      throw FilePlan.failed(place, e);
    }
  }

  private ParquetFileReader open(FilePlan plan) throws IOException {
    if (reader != null && plan.equals(file)) {
      return reader;
    }
    close();
    SourceInput source = plan.input().get();
    try {
      ParquetFileReader opened = ParquetFileReader.open(source, context);
      file = plan;
      input = source;
      reader = opened;
      plan.requireSame(source);
      return opened;
    } catch (ParquetException e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      throw FilePlan.failed(plan.name(), e);
    }
  }

  @Override
  public void close() throws IOException {
    if (reader != null) {
      reader.close();
      reader = null;
      file = null;
      input = null;
    }
  }
}
