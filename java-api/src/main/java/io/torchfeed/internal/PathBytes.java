// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * File names as bytes, exactly as they are on disk.
 *
 * <p>A path of the default file system keeps these bytes, but {@link Path#toString} decodes them
 * with the JVM's {@code sun.jnu.encoding} and loses those that the encoding lacks: everything
 * beyond ASCII in the locale {@code C}, and bytes that are not UTF-8 in any other. The URI of the
 * path escapes them byte by byte.
 */
public final class PathBytes {
  private static final String SCHEME = "file://";

  private PathBytes() {}

  /**
   * Returns the bytes of an absolute path.
   *
   * @param path a path of the default file system; a relative one is made absolute
   * @return the bytes, without a slash at the end
   * @throws IllegalArgumentException if the path is of another file system, such as a zip file's
   */
  public static byte[] of(Path path) {
    String escaped = escaped(path);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(escaped.length());
    for (int i = 0; i < escaped.length(); i++) {
      if (escaped.charAt(i) == '%') {
        bytes.write(Integer.parseInt(escaped, i + 1, i + 3, 16));
        i += 2;
      } else {
        bytes.write(escaped.charAt(i));
      }
    }
    return bytes.toByteArray();
  }

  /**
   * Returns the bytes of a file's name.
   *
   * @param path a path of the default file system
   * @return the bytes of its last element
   */
  public static byte[] name(Path path) {
    byte[] bytes = of(path);
    int from = bytes.length;
    while (from > 0 && bytes[from - 1] != '/') {
      from--;
    }
    return Arrays.copyOfRange(bytes, from, bytes.length);
  }

  /**
   * Returns the sibling of a path whose name has a suffix appended.
   *
   * @param path any path
   * @param suffix ASCII characters that need no escaping in a URI
   * @return the path, absolute in the default file system
   */
  public static Path withSuffix(Path path, String suffix) {
    if (path.getFileSystem() != FileSystems.getDefault()) {
      return path.resolveSibling(path.getFileName() + suffix);
    }
    return Path.of(URI.create(SCHEME + escaped(path) + suffix));
  }

  /**
   * Requires a path that native code can open.
   *
   * @throws IllegalArgumentException if the path is of another file system than the default one
   */
  public static void requireDefault(Path path) {
    if (path.getFileSystem() != FileSystems.getDefault()) {
      throw new IllegalArgumentException(
          "%s is not in the default file system, where native code can open it".formatted(path));
    }
  }

  private static String escaped(Path path) {
    requireDefault(path);
    String escaped = path.toUri().getRawPath();
    // The URI of an existing directory ends with a slash.
    return escaped.length() > 1 && escaped.endsWith("/")
        ? escaped.substring(0, escaped.length() - 1)
        : escaped;
  }
}
