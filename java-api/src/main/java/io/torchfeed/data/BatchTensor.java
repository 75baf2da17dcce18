// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Tensor;

/** A tensor that lies in a vector of them. */
final class BatchTensor extends Tensor {
  private final BatchVector owner;

  /**
   * The tensor at some place.
   *
   * @param owner is told when it is closed
   */
  BatchTensor(Tensor place, BatchVector owner) {
    super((Pointer) place); // the same native object
    this.owner = owner;
  }

  /** Frees the tensor. Silent the second time. */
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
