// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.bindings.NativeHandle;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.jspecify.annotations.Nullable;

/**
 * The vectors that the tensors of a feed's batches lie in, used again: JavaCPP looks at the size of
 * the process whenever it registers a native object, which takes longer than all else that a batch
 * costs beside its rows. Thread-safe.
 */
final class TensorVectors implements AutoCloseable {
  private @Nullable TensorVector spare; // one batch is out at a time, unless it is left to itself
  private boolean closed;

  /** The tensors that {@code fill} puts into a vector; the caller closes them. */
  Tensor[] filled(Consumer<TensorVector> fill) {
    TensorVector vector = take();
    try {
      fill.accept(vector);
    } catch (RuntimeException | Error e) {
      giveBack(vector);
      throw e;
    }
    return BatchTensor.of(vector, this::giveBack);
  }

  private synchronized TensorVector take() {
    TensorVector vector = spare;
    spare = null;
    return vector != null ? vector : NativeHandle.outsideOfScopes(TensorVector::new);
  }

  private void giveBack(TensorVector vector) {
    vector.clear();
    synchronized (this) {
      if (!closed && spare == null) {
        spare = vector;
        return;
      }
    }
    vector.close();
  }

  @Override
  public synchronized void close() {
    closed = true;
    if (spare != null) {
      spare.close();
      spare = null;
    }
  }
}
