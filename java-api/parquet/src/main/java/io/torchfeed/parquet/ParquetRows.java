// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static java.util.Objects.requireNonNull;

import io.torchfeed.memory.RowSpec;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Rows of {@link ParquetFiles}, as columns of tensors, to be stored or streamed. Nothing is read
 * before.
 *
 * <p>Immutable and thread-safe.
 */
public final class ParquetRows {
  private static final long PATIENCE = TimeUnit.SECONDS.toNanos(60);

  private final StorePlan plan;
  private final int threads;
  private final Consumer<? super ParquetProgress> progress;
  private final long patienceNanos;

  private ParquetRows(
      StorePlan plan, int threads, Consumer<? super ParquetProgress> progress, long patienceNanos) {
    this.plan = plan;
    this.threads = threads;
    this.progress = progress;
    this.patienceNanos = patienceNanos;
  }

  static ParquetRows of(List<FilePlan> files, List<ColumnSource> sources) {
    if (sources.isEmpty()) {
      throw new IllegalArgumentException("there must be at least one column, got none");
    }
    Set<String> names = new HashSet<>();
    for (ColumnSource source : sources) {
      if (!names.add(source.row().name())) {
        throw new IllegalArgumentException(
            "there are two columns named %s; use withName".formatted(source.row().name()));
      }
    }
    return new ParquetRows(
        StorePlan.of(files, sources),
        Runtime.getRuntime().availableProcessors(),
        done -> {},
        PATIENCE);
  }

  /**
   * Returns these rows, stored or decoded for a stream by another number of threads.
   *
   * @param count at least 1; by default as many as there are processors
   * @return the new rows
   * @throws IllegalArgumentException if it is below 1
   */
  public ParquetRows withThreads(int count) {
    if (count < 1) {
      throw new IllegalArgumentException("count must be at least 1, got " + count);
    }
    return new ParquetRows(plan, count, progress, patienceNanos);
  }

  /**
   * Returns these rows with a report of progress.
   *
   * @param report receives the progress after each row group, from one thread at a time; its
   *     exceptions end the storing
   * @return the new rows
   */
  public ParquetRows withProgress(Consumer<? super ParquetProgress> report) {
    return new ParquetRows(plan, threads, requireNonNull(report, "report"), patienceNanos);
  }

  /** Waits less for processes that store nothing, for tests. */
  ParquetRows withPatienceNanos(long nanos) {
    return new ParquetRows(plan, threads, progress, nanos);
  }

  StorePlan plan() {
    return plan;
  }

  /**
   * Returns the number of rows.
   *
   * @return at least 0
   */
  public long size() {
    return plan.rows();
  }

  /**
   * Returns the names, dtypes and shapes of the columns.
   *
   * @return an unmodifiable list
   */
  public List<RowSpec> columns() {
    return plan.columns();
  }

  /**
   * Writes the rows into a folder, once, in their order: the next call only opens them. After an
   * interruption, however it came, it writes the row groups that are missing. Any number of
   * processes may call it at the same time, with the same rows and folder: each takes row groups
   * that no other has, and all return when the folder is complete. The folder is complete when it
   * has a file {@code rows.properties}, which appears last.
   *
   * <p>The processes must see each other's locks of files; without them, each stores all rows,
   * which are the same.
   *
   * @param folder a new or empty one, or one of an earlier call, with room for all rows
   * @return the stored rows
   * @throws ParquetException if a value does not fit (the message names file, row group, row and
   *     column), a file is damaged or has changed, the folder has other rows, or cannot be written
   */
  public ParquetStore store(Path folder) {
    requireNonNull(folder, "folder");
    StoreWriter.run(plan, folder, threads, progress, patienceNanos);
    ParquetStore store = ParquetStore.open(folder);
    plan.requireSame(folder, store.note().identity());
    return store;
  }

  /**
   * Returns the rows as a stream, for rows that do not fit on the disk or are read few times: in
   * the order of the files until {@link ParquetStream#shuffled}.
   *
   * @param shards how many row groups are read at a time, by all ranks together, in [1, 65536]: at
   *     least as many as workers on all ranks. It belongs to the data: another number is another
   *     order
   * @return the stream, not yet read
   * @throws IllegalArgumentException if the number is out of range
   */
  public ParquetStream stream(int shards) {
    return ParquetStream.of(plan, shards, threads);
  }
}
