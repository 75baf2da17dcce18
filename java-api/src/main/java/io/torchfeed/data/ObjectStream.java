// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import org.jspecify.annotations.Nullable;

/**
 * The rest of one shard, object by object. Used by one thread at a time, not always the same.
 *
 * @param <T> the type of the objects
 */
public interface ObjectStream<T> extends AutoCloseable {
  /**
   * Reads the next object. If it throws, the next call goes on with the object after it; a stream
   * that cannot go on stays where it is.
   *
   * @return the object; null if there is none
   * @throws Exception if it cannot be read
   */
  @Nullable T next() throws Exception;

  /**
   * Where {@link ObjectStreamDataset#open} goes on with the object that is next.
   *
   * @return a short text; equal ones mean the same place
   * @throws Exception if the place cannot be told
   */
  String position() throws Exception;

  /**
   * Ends the stream, at its end or before. What it throws is lost.
   *
   * @throws Exception ignored
   */
  @Override
  default void close() throws Exception {}
}
