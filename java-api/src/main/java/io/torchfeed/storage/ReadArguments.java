// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.util.Objects.requireNonNull;

import java.nio.ByteBuffer;

/** Checks the arguments of {@link ByteSource#read} in the same way for all sources. */
final class ReadArguments {
  private ReadArguments() {}

  /**
   * Requires a position and room for at least one byte.
   *
   * @throws IllegalArgumentException if one is missing
   */
  static void require(long offset, ByteBuffer into) {
    requireNonNull(into, "into");
    if (offset < 0) {
      throw new IllegalArgumentException("offset must be at least 0, got " + offset);
    }
    if (!into.hasRemaining()) {
      throw new IllegalArgumentException("into must have room for at least one byte, got none");
    }
  }
}
