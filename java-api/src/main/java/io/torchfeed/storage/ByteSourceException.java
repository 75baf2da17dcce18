// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.util.Objects.requireNonNull;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Thrown when a source cannot be read. */
public final class ByteSourceException extends IOException {
  private static final long serialVersionUID = 1L;

  /** The name of the source. */
  private final String name;

  /** The position of the first byte of the read. */
  private final long offset;

  /**
   * Creates an exception.
   *
   * @param name the name of the source
   * @param offset the position of the first byte of the read, at least 0
   * @param reason of the failure
   * @param cause of the failure, or null
   */
  public ByteSourceException(String name, long offset, String reason, @Nullable Throwable cause) {
    super(
        "%s cannot be read at byte %d: %s"
            .formatted(requireNonNull(name, "name"), offset, requireNonNull(reason, "reason")),
        cause);
    this.name = name;
    this.offset = offset;
  }

  /**
   * Returns the name of the source.
   *
   * @return its {@link ByteSource#name}
   */
  public String name() {
    return name;
  }

  /**
   * Returns the position at which reading failed.
   *
   * @return the offset of the first byte of the read
   */
  public long offset() {
    return offset;
  }
}
