// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.sampler.PlanParameters;
import org.jspecify.annotations.Nullable;

/**
 * Objects that can only be read one after the other, in a fixed number of shards; {@link
 * StreamDataset#of} makes samples of them.
 *
 * @param <T> the type of the objects
 */
public interface ObjectStreamDataset<T> {
  /**
   * The number of shards.
   *
   * @return at least 1, always the same
   */
  int shards();

  /**
   * Opens a shard. Called by several threads at once, for different shards.
   *
   * @param epoch the number of the epoch, at least 0
   * @param shard which shard, in [0, shards())
   * @param position where to go on, as {@link ObjectStream#position} told it; null for the start
   * @return the stream; the loader closes it
   * @throws Exception if it cannot be opened
   */
  ObjectStream<T> open(long epoch, int shard, @Nullable String position) throws Exception;

  /**
   * What positions belong to, see {@link StreamDataset#parameters}.
   *
   * @return by default nothing but the kind {@code stream}
   */
  default PlanParameters parameters() {
    return PlanParameters.of("stream");
  }

  /**
   * Objects made of these, on the workers.
   *
   * @param <R> the type of the new objects
   * @param mapper makes one of the other
   * @return as many objects in the same shards
   */
  default <R> ObjectStreamDataset<R> map(ObjectDataset.Mapper<? super T, ? extends R> mapper) {
    return new MappedStreamDataset<>(this, requireNonNull(mapper, "mapper"));
  }

  /**
   * These objects shuffled in windows: of each shard, the first {@code window} objects in a random
   * order, then the next, and so on; the order differs from epoch to epoch.
   *
   * <p>An object never leaves its window, other than in a shuffle buffer that is refilled one by
   * one. So a position is small and exact: where the window begins, and how many of it are
   * delivered. Going on there reads at most one window again.
   *
   * @param window how many objects each worker holds of each shard that it reads, at least 1
   * @param seed any number
   * @return as many objects in the same shards
   * @throws IllegalArgumentException if {@code window} is below 1
   */
  default ObjectStreamDataset<T> shuffled(int window, long seed) {
    return new ShuffledStreamDataset<>(this, window, seed);
  }
}
