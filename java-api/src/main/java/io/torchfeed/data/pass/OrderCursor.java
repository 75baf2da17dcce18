// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import io.torchfeed.sampler.ResumableCursor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The cursor of a pass. It is closed when the pass needs no more indices, and reopened if its state
 * or padding is requested after that. Used by one thread at a time.
 */
final class OrderCursor {
  private final Supplier<ResumableCursor.OfBatches> opener;
  private ResumableCursor.@Nullable OfBatches cursor;
  private boolean closed;

  /**
   * Takes ownership of a cursor.
   *
   * @param opener opens another one with the same batches
   */
  OrderCursor(ResumableCursor.OfBatches cursor, Supplier<ResumableCursor.OfBatches> opener) {
    this.cursor = cursor;
    this.opener = opener;
  }

  ResumableCursor.OfBatches get() {
    ResumableCursor.OfBatches open = cursor;
    if (open == null) {
      if (closed) {
        throw new IllegalStateException("the pass is closed");
      }
      open = opener.get();
      cursor = open;
    }
    return open;
  }

  /** Closes the cursor until it is needed again. */
  void release() {
    ResumableCursor.OfBatches open = cursor;
    cursor = null;
    if (open != null) {
      open.close();
    }
  }

  void close() {
    closed = true;
    release();
  }
}
