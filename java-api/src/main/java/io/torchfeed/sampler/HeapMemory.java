// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.function.Supplier;

/** Plans that do not fit the Java heap: a wrong setting, not the end of the machine. */
final class HeapMemory {
  private HeapMemory() {}

  /**
   * The result of planning.
   *
   * @throws IllegalStateException if the heap is too small for it
   */
  static <T> T planned(Object plan, Supplier<T> planning) {
    try {
      return planning.get();
    } catch (OutOfMemoryError e) {
      throw new IllegalStateException(
          "the order of %s does not fit the Java heap, which grows to %d bytes at most; raise -Xmx"
              .formatted(plan, Runtime.getRuntime().maxMemory()),
          e);
    }
  }
}
