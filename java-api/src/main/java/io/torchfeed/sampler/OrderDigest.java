// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Objects;

/**
 * A digest, made batch by batch, of the indices that one rank was delivered: two runs in which a
 * rank has the same digest at the end of an epoch saw the same samples in the same order. How the
 * indices were grouped does not matter. Takes constant memory. Not thread-safe.
 *
 * <pre>{@code
 * OrderDigest digest = new OrderDigest();
 * for (int read = cursor.next(batch, 0, 64); read > 0; read = cursor.next(batch, 0, 64)) {
 *   digest.add(batch, 0, read);
 * }
 * }</pre>
 */
public final class OrderDigest {
  private long value;

  /** A digest of no index. */
  public OrderDigest() {}

  /**
   * Adds the next indices.
   *
   * @param indices holds them from element {@code from} on
   * @param from the first element
   * @param count how many
   * @throws IndexOutOfBoundsException if {@code from} and {@code count} do not fit {@code indices}
   */
  public void add(long[] indices, int from, int count) {
    Objects.checkFromIndexSize(from, count, indices.length);
    for (int i = from; i < from + count; i++) {
      value = Mix64.fold(value, indices[i]);
    }
  }

  /**
   * The digest of what was added so far.
   *
   * @return any number
   */
  public long value() {
    return value;
  }
}
