// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;

/**
 * A check for paths that are not regular files, before they are opened: opening a named pipe waits
 * indefinitely for a writer, and Java cannot open one without waiting.
 */
public final class RegularFile {
  private RegularFile() {}

  /**
   * Returns the kind of a path that is no regular file or link to one.
   *
   * @param path any path
   * @return the kind of file, for messages; null if it is a regular file, or if its attributes
   *     cannot be read, in which case opening it fails at once with the reason
   */
  public static @Nullable String otherKind(Path path) {
    try {
      BasicFileAttributes attributes = Files.readAttributes(path, BasicFileAttributes.class);
      if (attributes.isRegularFile()) {
        return null;
      }
      return attributes.isDirectory() ? "a directory" : "a pipe, a socket or a device";
    } catch (IOException e) {
      return null;
    }
  }

  /**
   * Rejects a path that names anything but a regular file.
   *
   * @param path any path
   * @throws IllegalArgumentException if the path names a directory, a pipe, a socket or a device
   */
  public static void require(Path path) {
    String kind = otherKind(path);
    if (kind != null) {
      throw new IllegalArgumentException(path + " must be a regular file, got " + kind);
    }
  }
}
