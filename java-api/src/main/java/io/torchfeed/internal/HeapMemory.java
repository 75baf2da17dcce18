// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.util.function.IntFunction;
import java.util.function.Supplier;

/**
 * Allocation of plans and arrays; reports a Java heap that is too small as a configuration error
 * rather than a fatal one.
 */
public final class HeapMemory {
  private HeapMemory() {}

  /**
   * Allocates an array.
   *
   * @param what a description of the array for the message
   * @throws IllegalStateException if the heap is too small for it
   */
  public static <T> T array(
      Supplier<String> what, long length, int bytes, IntFunction<T> constructor) {
    try {
      return constructor.apply(Math.toIntExact(length));
    } catch (OutOfMemoryError e) {
      throw new IllegalStateException(
          "%s takes %d bytes, but the Java heap is limited to %d; raise -Xmx"
              .formatted(what.get(), length * bytes, Runtime.getRuntime().maxMemory()),
          e);
    }
  }

  /**
   * Returns the result of planning.
   *
   * @throws IllegalStateException if the heap is too small for it
   */
  public static <T> T planned(Object plan, Supplier<T> planning) {
    return fitting(() -> "the order of " + plan, planning);
  }

  /**
   * Allocates an array whose allocation can fail only because of its length.
   *
   * @param name the name of its elements in messages
   * @throws IllegalStateException if the heap is too small for it
   */
  public static <T> T array(String name, int length, IntFunction<T> array) {
    return fitting(() -> "the array of %d %s".formatted(length, name), () -> array.apply(length));
  }

  private static <T> T fitting(Supplier<String> what, Supplier<T> body) {
    try {
      return body.get();
    } catch (OutOfMemoryError e) {
      throw new IllegalStateException(
          "%s does not fit the Java heap, which is limited to %d bytes; raise -Xmx"
              .formatted(what.get(), Runtime.getRuntime().maxMemory()),
          e);
    }
  }
}
