// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.function.Consumer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * A tensor that lies in a vector of them. The vector goes back to its owner when its last tensor is
 * closed. If that never comes, it is freed when nobody refers to any of them.
 */
final class BatchTensor extends Tensor {
  private final Owner owner;

  private BatchTensor(Tensor element, Owner owner) {
    super((Pointer) element); // the same native object
    this.owner = owner;
  }

  /** The vector and how many of its tensors are open. */
  private static final class Owner {
    final TensorVector all;
    final Consumer<TensorVector> end;
    int open;

    Owner(TensorVector all, Consumer<TensorVector> end, int open) {
      this.all = all;
      this.end = end;
      this.open = open;
    }
  }

  /**
   * The tensors of a vector that is theirs from now on.
   *
   * @param end gets the vector when all are closed
   */
  static Tensor[] of(TensorVector all, Consumer<TensorVector> end) {
    Tensor[] tensors = new Tensor[Math.toIntExact(all.size())];
    Owner owner = new Owner(all, end, tensors.length);
    for (int i = 0; i < tensors.length; i++) {
      tensors[i] = new BatchTensor(all.get(i), owner);
    }
    return tensors;
  }

  /** Frees the tensor. Silent the second time. */
  @Override
  public void close() {
    synchronized (owner) {
      if (isNull()) {
        return;
      }
      setNull();
      owner.open--;
      if (owner.open == 0) {
        owner.end.accept(owner.all);
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
