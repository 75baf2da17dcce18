// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import java.util.Arrays;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.jspecify.annotations.Nullable;

/**
 * A native vector that holds the tensors of a batch. It is returned to its owner when the last of
 * them is closed. If that never happens, it is freed when none of them is reachable. Thread-safe.
 */
final class BatchVector implements AutoCloseable {
  private final TensorVector vector;
  private final Consumer<BatchVector> end;
  private Tensor @Nullable [] places; // addresses of the elements, whatever their content
  private int open;

  /**
   * Takes ownership of a vector.
   *
   * @param end receives this vector when all tensors are closed
   */
  BatchVector(TensorVector vector, Consumer<BatchVector> end) {
    this.vector = vector;
    this.end = end;
  }

  /**
   * Returns the vector to fill before {@link #tensors}, each time with the same number of tensors.
   */
  TensorVector vector() {
    return vector;
  }

  /** Returns the current tensors of the vector; the caller closes them. */
  synchronized Tensor[] tensors() {
    Tensor[] known = places;
    if (known == null) {
      known = new Tensor[Math.toIntExact(vector.size())];
      Arrays.setAll(known, vector::get);
      places = known;
    }
    open = known.length;
    Tensor[] tensors = new Tensor[known.length];
    for (int i = 0; i < tensors.length; i++) {
      tensors[i] = new BatchTensor(known[i], this);
    }
    return tensors;
  }

  /** Notes that one of the tensors is closed. */
  synchronized void release() {
    open--;
    if (open == 0) {
      end.accept(this);
    }
  }

  /** Frees the content of the vector, which can then be filled again. */
  void clear() {
    vector.clear();
  }

  /** Frees the vector. */
  @Override
  public void close() {
    vector.close();
  }
}
