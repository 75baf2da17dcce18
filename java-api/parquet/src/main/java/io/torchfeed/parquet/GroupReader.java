// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import dev.hardwood.HardwoodContext;
import dev.hardwood.reader.FilterPredicate;
import dev.hardwood.reader.ParquetFileReader;
import io.torchfeed.parquet.FilePlan.GroupPlace;
import io.torchfeed.parquet.ParquetException.Problem;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads row groups in batches; keeps the last file open. Not thread-safe. */
final class GroupReader implements AutoCloseable {
  private final HardwoodContext context;
  private final ReadMemory memory;
  private final int batchRows;
  private final @Nullable FilterPredicate filter;
  private @Nullable FilePlan file;
  private @Nullable SourceInput input;
  private @Nullable ParquetFileReader reader;

  /**
   * Reads batches of at most this many rows.
   *
   * @param memory for the bytes of the open row group
   * @param filter of the rows; null for all
   */
  GroupReader(
      HardwoodContext context, ReadMemory memory, int batchRows, @Nullable FilterPredicate filter) {
    this.context = context;
    this.memory = memory;
    this.batchRows = batchRows;
    this.filter = filter;
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
  void read(FilePlan plan, GroupPlace place, List<Leaf> leaves, Batches batches)
      throws IOException {
    try (Group group = open(plan, place, leaves)) {
      while (group.next()) {
        BatchPlace at = new BatchPlace(plan.name(), place.number(), group.row());
        batches.take(group.batch(), group.count(), at);
      }
    }
  }

  /**
   * Opens a row group, once the last one is closed.
   *
   * @param leaves the only ones that are read
   * @throws ParquetException if it cannot be read
   */
  Group open(FilePlan plan, GroupPlace place, List<Leaf> leaves) throws IOException {
    ParquetFileReader opened = open(plan);
    if (input != null) {
      input.beginGroup();
    }
    return new Group(plan, place, opened, leaves);
  }

  /** The batches of a row group, one after the other. */
  final class Group implements AutoCloseable {
    private final FilePlan plan;
    private final GroupPlace place;
    private final String name;
    private final GroupColumns columns;
    private long row;
    private int count;
    private boolean isOver;

    private Group(FilePlan plan, GroupPlace place, ParquetFileReader opened, List<Leaf> leaves) {
      this.plan = plan;
      this.place = place;
      name = "%s, row group %d".formatted(plan.name(), place.number());
      try {
        columns = new GroupColumns(opened, place, leaves, filter, batchRows);
      } catch (IllegalArgumentException e) { // the filter's
        throw new ParquetException(
            Problem.SCHEMA, "%s: %s".formatted(plan.name(), ParquetException.reason(e)), e);
      } catch (RuntimeException e) {
        throw FilePlan.failed(name, e);
      }
    }

    /**
     * Reads the next batch.
     *
     * @return false after the last one
     * @throws ParquetException if it cannot be read, or the group has another number of rows
     */
    boolean next() {
      if (isOver) {
        return false;
      }
      row += count;
      try {
        count = columns.next();
      } catch (RuntimeException e) {
        throw FilePlan.failed(name, e);
      }
      if (count >= 0) {
        return true;
      }
      count = 0;
      isOver = true;
      requireWhole();
      return false;
    }

    private void requireWhole() {
      if (Thread.currentThread().isInterrupted()) {
        throw new ParquetException(Problem.FILE, name + ": reading was interrupted");
      }
      if (filter == null && row != place.rows()) {
        throw new ParquetException(
            Problem.FILE, "%s must have %d rows, got %d".formatted(name, place.rows(), row));
      }
      if (input != null) {
        plan.requireSame(input);
      }
    }

    /**
     * Returns the number of the first row of the batch, among those that the filter lets through.
     */
    long row() {
      return row;
    }

    /** Returns the number of rows of the batch. */
    int count() {
      return count;
    }

    /** Returns the batch, in the order of the leaves. */
    List<LeafBatch> batch() {
      try {
        return columns.batch();
      } catch (RuntimeException e) {
        throw FilePlan.failed(name, e);
      }
    }

    @Override
    public void close() {
      boolean isUnused = false;
      try {
        columns.close();
        isUnused = !Thread.currentThread().isInterrupted(); // then Hardwood has not waited
      } finally {
        if (input != null) {
          input.endGroup(isUnused);
        }
      }
    }
  }

  private ParquetFileReader open(FilePlan plan) throws IOException {
    if (reader != null && plan.equals(file)) {
      return reader;
    }
    close();
    SourceInput source = plan.input().get().with(memory);
    try {
      ParquetFileReader opened = ParquetFileReader.open(source, context);
      file = plan;
      input = source;
      reader = opened;
      plan.requireSame(source);
      return opened;
    } catch (IOException | RuntimeException e) {
      close();
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
