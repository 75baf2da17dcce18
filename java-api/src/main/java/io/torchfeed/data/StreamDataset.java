// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.PlanParameters;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Samples that can only be read one after the other, in a fixed number of shards: files, partitions
 * of a log, ranges of a table.
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
 * <p>The number of shards belongs to the data, not to the program that reads it: it says what
 * batches there are, while ranks and workers only share them out. Shards are read side by side,
 * each by one worker at a time, so at least as many of them as workers of all ranks are of use.
 * What a shard delivers must be a function of shard, epoch, position and {@link
 * SampleWriter#random}.
 */
public interface StreamDataset {
  /**
   * The number of shards.
   *
   * @return at least 1, always the same
   */
  int shards();

  /**
   * What a sample has of each column.
   *
   * @return at least one column, always the same
   */
  List<RowSpec> columns();

  /**
   * Which columns hold samples of different lengths; by default none.
   *
   * @return at most one for each column, always the same
   */
  default List<VariableLength> variableLengths() {
    return List.of();
  }

  /**
   * Opens a shard. Called by several threads at once, for different shards.
   *
   * @param epoch the number of the epoch, at least 0
   * @param shard which shard, in [0, shards())
   * @param position where to go on, as {@link SampleStream#position} told it, perhaps in another
   *     process; null for the start
   * @return the stream; the loader closes it
   * @throws Exception if it cannot be opened
   */
  SampleStream open(long epoch, int shard, @Nullable String position) throws Exception;

  /**
   * What positions belong to: a state is resumed only by a dataset that has equal parameters.
   *
   * @return by default nothing but the kind {@code stream}
   */
  default PlanParameters parameters() {
    return PlanParameters.of("stream");
  }

  /**
   * Streams of objects, each object turned into a sample on the workers.
   *
   * @param <T> the type of the objects
   * @param objects the objects by shard
   * @param collator writes an object as a sample
   * @return a dataset of the same shards
   */
  static <T> StreamDataset of(ObjectStreamDataset<T> objects, Collator<? super T> collator) {
    return new CollatedStreamDataset<>(
        requireNonNull(objects, "objects"), requireNonNull(collator, "collator"));
  }
}
