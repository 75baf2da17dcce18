// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Tensor;

/** A tensor that lies in a vector of tensors. */
final class BatchTensor extends Tensor {
  private final BatchVector owner;

  /**
   * Wraps the tensor at a place in the vector.
   *
   * @param owner the vector, which is notified when the tensor is closed
   */
  BatchTensor(Tensor place, BatchVector owner) {
    super((Pointer) place); // the same native object
    this.owner = owner;
  }

  /** Frees the tensor. Idempotent. */
  @Override
  public void close() {
    synchronized (owner) {
      if (!isNull()) {
        setNull();
        owner.release();
      }
    }
  }

  @Override
  public void deallocate(boolean deallocate) {
    if (deallocate) {
      close();
    }
  }
}
