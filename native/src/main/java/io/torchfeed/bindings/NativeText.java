// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.bindings;

import java.nio.charset.StandardCharsets;
import org.bytedeco.javacpp.BytePointer;

/** Texts that native code returns. JavaCPP returns null for an empty one. */
public final class NativeText {
  private NativeText() {}

  /**
   * Returns a text in UTF-8, and frees its pointer.
   *
   * @param from the pointer, null for an empty text
   */
  public static String of(BytePointer from) {
    try (from) {
      return from == null ? "" : from.getString(StandardCharsets.UTF_8);
    }
  }
}
