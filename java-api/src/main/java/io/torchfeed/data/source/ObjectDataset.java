// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.Dataset;

/**
 * A dataset of objects by index, for example decoded images; {@link #encode} converts them to
 * samples.
 *
 * @param <T> the type of the objects
 */
public interface ObjectDataset<T> {
  /**
   * Returns the number of objects.
   *
   * @return at least 0, always the same
   */
  long size();

  /**
   * Returns an object. Called concurrently by several threads.
   *
   * @param index the index of the object, in [0, size())
   * @return the object
   * @throws Exception if the object cannot be loaded
   */
  T get(long index) throws Exception;

  /**
   * Returns a view of these objects with a mapper applied to each, on the workers.
   *
   * @param <R> the type of the new objects
   * @param mapper computes the new object from the old one
   * @return a dataset of as many objects
   */
  default <R> ObjectDataset<R> map(Mapper<? super T, ? extends R> mapper) {
    requireNonNull(mapper, "mapper");
    ObjectDataset<T> objects = this;
    return new ObjectDataset<>() {
      @Override
      public long size() {
        return objects.size();
      }

      @Override
      public R get(long index) throws Exception {
        return mapper.map(objects.get(index));
      }
    };
  }

  /**
   * Returns a dataset of these objects, each converted to a sample on the workers.
   *
   * @param encoder writes an object as a sample
   * @return a dataset with one sample per object
   */
  default Dataset encode(SampleEncoder<? super T> encoder) {
    requireNonNull(encoder, "encoder");
    return new EncodedDataset<>(this, encoder);
  }

  /**
   * A function from one object to another.
   *
   * @param <T> the type of the object
   * @param <R> the type of the new object
   */
  @FunctionalInterface
  interface Mapper<T, R> {
    /**
     * Returns the new object. Called concurrently by several threads.
     *
     * @param object the object
     * @return the new object
     * @throws Exception if the new object cannot be computed
     */
    R map(T object) throws Exception;
  }
}
