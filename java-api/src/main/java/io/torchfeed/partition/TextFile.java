// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static java.util.Objects.requireNonNull;

import java.nio.file.Path;
import java.nio.file.attribute.FileTime;

/**
 * A file as it was when it was planned.
 *
 * @param path where it lies
 * @param bytes its length in bytes as stored, at least 0
 * @param modified when it was last changed
 * @param compression how its text is stored
 */
public record TextFile(Path path, long bytes, FileTime modified, Compression compression) {
  /**
   * A file.
   *
   * @param path where it lies
   * @param bytes its length in bytes as stored, at least 0
   * @param modified when it was last changed
   * @param compression how its text is stored
   * @throws IllegalArgumentException if the length is negative
   */
  public TextFile {
    requireNonNull(path, "path");
    requireNonNull(modified, "modified");
    requireNonNull(compression, "compression");
    if (bytes < 0) {
      throw new IllegalArgumentException("bytes must be at least 0, got " + bytes);
    }
  }

  /**
   * Whether several ranks may share the file.
   *
   * @return whether a reader can begin in its middle
   */
  public boolean isSplittable() {
    return compression == Compression.NONE;
  }
}
