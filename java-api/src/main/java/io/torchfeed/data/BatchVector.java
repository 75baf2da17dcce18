// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.Arrays;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.jspecify.annotations.Nullable;

/**
 * A native vector that the tensors of a batch lie in. It goes to its owner when the last of them is
 * closed. If that never comes, it is freed when nobody refers to any of them. Thread-safe.
 */
final class BatchVector implements AutoCloseable {
  private final TensorVector vector;
  private final Consumer<BatchVector> end;
  private Tensor @Nullable [] places; // where the elements lie, whatever they are
  private int open;

  /**
   * Takes ownership of a vector.
   *
   * @param end gets this when all tensors are closed
   */
  BatchVector(TensorVector vector, Consumer<BatchVector> end) {
    this.vector = vector;
    this.end = end;
  }

  /** What is filled before {@link #tensors}, each time with as many tensors. */
  TensorVector vector() {
    return vector;
  }

  /** The tensors that are in it now; the caller closes them. */
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

  /** One of the tensors is closed. */
  synchronized void release() {
    open--;
    if (open == 0) {
      end.accept(this);
    }
  }

  /** Frees what is in it; it can be filled again. */
  void clear() {
    vector.clear();
  }

  /** Frees the vector. */
  @Override
  public void close() {
    vector.close();
  }
}
