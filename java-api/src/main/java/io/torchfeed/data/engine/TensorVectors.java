// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.bindings.NativeHandle;
import java.util.function.Consumer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.jspecify.annotations.Nullable;

/**
 * The vectors that hold the tensors of an engine's batches. They are reused because JavaCPP queries
 * the size of the process whenever it registers a native object, which takes longer than everything
 * else that a batch costs in addition to its rows. Thread-safe.
 */
final class TensorVectors implements AutoCloseable {
  // At most one batch is in use at a time, unless one is abandoned.
  private @Nullable BatchVector spare;

  private boolean closed;

  /**
   * Returns the tensors that {@code fill} puts into a vector, the same number each time; the caller
   * closes them.
   */
  public Tensor[] filled(Consumer<TensorVector> fill) {
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
