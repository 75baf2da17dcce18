// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import org.jspecify.annotations.Nullable;

/** The rule that each option of a builder is set at most once. */
public final class Once {
  private Once() {}

  /**
   * Returns the new value of an option.
   *
   * @throws IllegalStateException if the option was already set
   */
  public static <T> T set(String option, @Nullable T before, T value) {
    requireUnset(option, before);
    return value;
  }

  /**
   * Requires that an option was not set.
   *
   * @throws IllegalStateException if it was
   */
  public static void requireUnset(String option, @Nullable Object before) {
    if (before != null) {
      throw new IllegalStateException(
          isNamed(before) ? option + " was already set to " + before : option + " was already set");
    }
  }

  /** Returns whether a text says more than a class and an address. */
  private static boolean isNamed(Object value) {
    return !value.toString().endsWith("@" + Integer.toHexString(value.hashCode()));
  }
}
