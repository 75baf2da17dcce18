// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

/**
 * Objects by index, for example decoded images; {@link Dataset#of} makes samples of them.
 *
 * @param <T> the type of the objects
 */
public interface ObjectDataset<T> {
  /**
   * The number of objects.
   *
   * @return at least 0, always the same
   */
  long size();

  /**
   * An object. Called by several threads at once.
   *
   * @param index which object, in [0, size())
   * @return the object
   * @throws Exception if it cannot be had
   */
  T get(long index) throws Exception;

  /**
   * Objects made of these, on the workers.
   *
   * @param <R> the type of the new objects
   * @param mapper makes one of the other
   * @return as many objects
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
   * Makes one object of another.
   *
   * @param <T> the type of the object
   * @param <R> the type of the new object
   */
  @FunctionalInterface
  interface Mapper<T, R> {
    /**
     * Makes the new object. Called by several threads at once.
     *
     * @param object the object
     * @return the new object
     * @throws Exception if it cannot be made
     */
    R map(T object) throws Exception;
  }
}
