// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.engine.LoadedBatch;
import io.torchfeed.internal.Failures;
import org.jspecify.annotations.Nullable;

/**
 * The batch that a pass has taken from its engine and the consumer does not have yet. It stays
 * where it is if there is no memory for the next object on its way, even for an exception. Used by
 * the thread inside the pass.
 */
final class UnderWay {
  private @Nullable LoadedBatch loaded;
  private boolean isFinished;
  private @Nullable Throwable thrown; // while finishing the batch

  boolean isPresent() {
    return loaded != null;
  }

  LoadedBatch loaded() {
    return requireNonNull(loaded);
  }

  void begin(LoadedBatch taken) {
    loaded = taken;
  }

  /** Finishes the batch, once; returns the failure, or null. */
  @Nullable Throwable finish(Pass.Finish finish) {
    if (!isFinished) {
      isFinished = true;
      try {
        loaded = finish.apply(loaded());
      } catch (Throwable e) {
        thrown = e;
      }
    }
    return thrown;
  }

  /** Returns the exception for the consumer in place of a batch that could not be finished. */
  Throwable reason(Throwable cause) {
    if (cause instanceof InterruptedException) {
      Thread.currentThread().interrupt();
    }
    LoadedBatch lost = loaded();
    return cause instanceof Error && !(cause instanceof OutOfMemoryError)
        ? cause
        : new IllegalStateException(
            "batch %d of epoch %d could not be computed by the step after the transfer: %s"
                .formatted(lost.number(), lost.epoch(), Failures.describe(cause)),
            cause);
  }

  static void rethrow(Throwable reason) {
    if (reason instanceof Error error) {
      throw error;
    }
    throw (IllegalStateException) reason;
  }

  void end() {
    loaded = null;
    isFinished = false;
    thrown = null;
  }

  /** Frees the batch, which the consumer does not get any more. */
  void drop() {
    if (loaded != null) {
      loaded.close();
    }
    end();
  }
}
