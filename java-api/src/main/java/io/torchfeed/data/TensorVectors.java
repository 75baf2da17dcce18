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
  // one batch is out at a time, unless it is left to itself
  private @Nullable BatchVector spare;

  private boolean closed;

  /**
   * The tensors that {@code fill} puts into a vector, as many each time; the caller closes them.
   */
  Tensor[] filled(Consumer<TensorVector> fill) {
    BatchVector batch = take();
    try {
      fill.accept(batch.vector());
    } catch (RuntimeException | Error e) {
      giveBack(batch);
      throw e;
    }
    return batch.tensors();
  }

  private synchronized BatchVector take() {
    BatchVector batch = spare;
    spare = null;
    return batch != null
        ? batch
        : new BatchVector(NativeHandle.outsideOfScopes(TensorVector::new), this::giveBack);
  }

  private void giveBack(BatchVector batch) {
    batch.clear();
    synchronized (this) {
      if (!closed && spare == null) {
        spare = batch;
        return;
      }
    }
    batch.close();
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
