// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.PlanParameters;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A dataset of samples that can only be read sequentially, in a fixed number of shards: files,
 * partitions of a log, ranges of a table.
 *
 * <pre>{@code
 * record Counters(int shards, long each) implements StreamDataset {
 *   public List<RowSpec> columns() {
 *     return List.of(RowSpec.of(DType.INT64));
 *   }
 *
 *   public SampleStream open(long epoch, int shard, @Nullable String position) {
 *     return new SampleStream() {
 *       private long next = position == null ? 0 : Long.parseLong(position);
 *
 *       public boolean next(SampleWriter sample) {
 *         if (next < each) {
 *           sample.putLong(0, shard * each + next++);
 *           return true;
 *         }
 *         return false;
 *       }
 *
 *       public String position() {
 *         return Long.toString(next);
 *       }
 *     };
 *   }
 * }
 * }</pre>
 *
 * <p>The number of shards belongs to the data, not to the program that reads it: it determines the
 * batches, which ranks and workers only divide among themselves. Shards are read concurrently, each
 * by one worker at a time, so there should be at least as many shards as workers on all ranks
 * together. The samples of a shard must be a function of shard, epoch, position and {@link
 * SampleWriter#random}.
 */
public interface StreamDataset {
  /**
   * Returns the number of shards.
   *
   * @return at least 1, always the same
   */
  int shards();

  /**
   * Returns the dtype and shape of each column of a sample.
   *
   * @return at least one column, always the same
   */
  List<RowSpec> columns();

  /**
   * Returns the columns whose samples differ in length; by default none.
   *
   * @return at most one for each column, always the same
   */
  default List<VariableLength> variableLengths() {
    return List.of();
  }

  /**
   * Opens a shard. Called concurrently by several threads, for different shards.
   *
   * @param epoch the number of the epoch, at least 0
   * @param shard the number of the shard, in [0, shards())
   * @param position where to continue, as returned by {@link SampleStream#position}, possibly in
   *     another process; null for the start
   * @return the stream; the loader closes it
   * @throws Exception if it cannot be opened
   */
  SampleStream open(long epoch, int shard, @Nullable String position) throws Exception;

  /**
   * Returns the parameters that positions depend on: a state is resumed only by a dataset with
   * equal parameters.
   *
   * @return by default only the kind {@code stream}
   */
  default PlanParameters parameters() {
    return PlanParameters.of("stream");
  }

  /**
   * The rest of one shard, sample by sample. Used by one thread at a time, not always the same one.
   */
  public interface SampleStream extends AutoCloseable {
    /**
     * Writes the next sample: all elements of each column.
     *
     * <p>If this method throws, the sample is lost or skipped, according to the {@link
     * FailurePolicy}, and the next call continues with the following sample. A stream that cannot
     * continue keeps its position; the shard is then given up for this pass.
     *
     * @param sample receives the sample; valid only in this call and thread
     * @return false if there is none, in which case nothing is written
     * @throws Exception if the sample cannot be produced
     */
    boolean next(SampleWriter sample) throws Exception;

    /**
     * Returns the position from which {@link StreamDataset#open} continues with the next sample.
     * Called once per batch.
     *
     * @return a short text; equal texts denote the same position
     * @throws Exception if the position cannot be determined
     */
    String position() throws Exception;

    /**
     * Closes the stream, at its end or before. Exceptions are ignored.
     *
     * @throws Exception ignored
     */
    @Override
    default void close() throws Exception {}
  }

  /**
   * A stream of columns: it writes several samples in one call. The loader calls {@link #nextRows}
   * in place of {@link #next}, except for samples of variable length.
   */
  public interface ColumnStream extends SampleStream {
    /**
     * Writes the next samples, column by column. A put continues where the previous one into the
     * same column ended, whatever the sample, so that all rows of a column can be one put.
     *
     * <p>If this method throws, the first of the samples is lost or skipped, as in {@link #next},
     * and nothing of the others is: a stream writes fewer samples, and fails in the call that
     * begins with the bad one.
     *
     * @param samples receives all elements of each column, for as many samples as are returned, but
     *     no images; it has the index and the random numbers of the first one
     * @param max the largest number of samples, at least 1
     * @return the number of samples, at most {@code max}; 0 if there are none, in which case
     *     nothing is written
     * @throws Exception if the first sample cannot be produced
     */
    int nextRows(SampleWriter samples, int max) throws Exception;

    @Override
    default boolean next(SampleWriter sample) throws Exception {
      return nextRows(requireNonNull(sample, "sample"), 1) > 0;
    }
  }
}
