// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.StreamDataset;
import io.torchfeed.sampler.PlanParameters;
import org.jspecify.annotations.Nullable;

/**
 * A dataset of objects that can only be read sequentially, in a fixed number of shards; {@link
 * #encode} converts them to samples.
 *
 * @param <T> the type of the objects
 */
public interface ObjectStreamDataset<T> {
  /**
   * Returns the number of shards.
   *
   * @return at least 1, always the same
   */
  int shards();

  /**
   * Opens a shard. Called concurrently by several threads, for different shards.
   *
   * @param epoch the number of the epoch, at least 0
   * @param shard the number of the shard, in [0, shards())
   * @param position where to continue, as returned by {@link ObjectStream#position}; null for the
   *     start
   * @return the stream; the loader closes it
   * @throws Exception if it cannot be opened
   */
  ObjectStream<T> open(long epoch, int shard, @Nullable String position) throws Exception;

  /**
   * Returns the parameters that positions depend on, see {@link StreamDataset#parameters}.
   *
   * @return by default only the kind {@code stream}
   */
  default PlanParameters parameters() {
    return PlanParameters.of("stream");
  }

  /**
   * Returns a view of these objects with a mapper applied to each, on the workers.
   *
   * @param <R> the type of the new objects
   * @param mapper computes the new object from the old one
   * @return the same number of objects in the same shards
   */
  default <R> ObjectStreamDataset<R> map(ObjectDataset.Mapper<? super T, ? extends R> mapper) {
    return new MappedStreamDataset<>(this, requireNonNull(mapper, "mapper"));
  }

  /**
   * Returns these objects shuffled in windows: the first {@code window} objects of each shard in a
   * random order, then the next {@code window} objects, and so on; the order differs from epoch to
   * epoch.
   *
   * <p>An object never leaves its window, unlike in a shuffle buffer that is refilled one object at
   * a time. A position is therefore small and exact: the start of the window and the number of its
   * objects that were delivered. Resuming there reads at most one window again.
   *
   * @param window the number of objects that are held in memory for each shard being read, at least
   *     1
   * @param seed any number
   * @return the same number of objects in the same shards
   * @throws IllegalArgumentException if {@code window} is below 1
   */
  default ObjectStreamDataset<T> shuffled(int window, long seed) {
    return new ShuffledStreamDataset<>(this, window, seed);
  }

  /**
   * Returns a dataset of these streams, each object converted to a sample on the workers.
   *
   * @param encoder writes an object as a sample
   * @return a dataset of the same shards
   */
  default StreamDataset encode(SampleEncoder<? super T> encoder) {
    return new EncodedStreamDataset<>(this, requireNonNull(encoder, "encoder"));
  }

  /**
   * The rest of one shard, object by object. Used by one thread at a time, not always the same one.
   *
   * @param <T> the type of the objects
   */
  public interface ObjectStream<T> extends AutoCloseable {
    /**
     * Reads the next object. If this method throws, the next call continues with the following
     * object; a stream that cannot continue keeps its position.
     *
     * @return the object; null if there is none
     * @throws Exception if it cannot be read
     */
    @Nullable T next() throws Exception;

    /**
     * Returns the position from which {@link ObjectStreamDataset#open} continues with the next
     * object.
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
}
