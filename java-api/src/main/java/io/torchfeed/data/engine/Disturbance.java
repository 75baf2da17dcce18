// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

/**
 * An interrupt that ends a pass of an engine, or the close that ends its last one. Guarded by the
 * monitor of the engine.
 */
final class Disturbance {
  private boolean isInterrupt;
  private boolean isLast;
  private long since;

  /** Begins an interrupt, unless there is one already. */
  void begin() {
    if (!isInterrupt) {
      isInterrupt = true;
      since = System.nanoTime();
    }
  }

  /** Ends the interrupt, if the engine is not closed. */
  void end() {
    isInterrupt = false;
  }

  /** Notes that the engine is closed, before its last interrupt. */
  void beginLast() {
    isLast = true;
  }

  boolean isLast() {
    return isLast;
  }

  boolean isOn() {
    return isInterrupt || isLast;
  }

  void requireNone() {
    if (isOn()) {
      throw new IllegalStateException("the engine was interrupted");
    }
  }

  /** Returns when the patience since the interrupt is over, in {@link System#nanoTime}. */
  long deadline(long patienceNanos) {
    return since + patienceNanos;
  }
}
