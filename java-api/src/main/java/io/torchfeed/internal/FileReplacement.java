// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Locale;
import java.util.UUID;

/**
 * The replacement of a file as a whole: it is written under another name beside it, flushed and
 * renamed, so that a file that is there is complete, even if others write it at the same time and
 * whenever the process is killed.
 */
public final class FileReplacement {
  private static final int MAX_NAME_BYTES = 255;

  private FileReplacement() {}

  /** The content of a file. */
  @FunctionalInterface
  public interface Content {
    /**
     * Writes the content.
     *
     * @param channel an empty file
     * @throws IOException if it cannot be written
     */
    void write(FileChannel channel) throws IOException;
  }

  /**
   * Writes a file, or replaces one. If several threads or processes write the same path, the last
   * that ends wins. If writing fails, nothing changes and nothing is left.
   *
   * @param path the file; a link to a file is followed, one to nothing is replaced
   * @param content writes the content
   * @throws IOException if the file cannot be written, or the path names a folder, a pipe, a socket
   *     or a device, which stays
   */
  public static void write(Path path, Content content) throws IOException {
    Path target = Files.exists(path) ? path.toRealPath() : path;
    String kind = RegularFile.otherKind(target);
    if (kind != null) {
      throw new FileSystemException(
          path.toString(), null, "it must be a regular file or not exist, got " + kind);
    }
    Path partial = partial(target);
    boolean created = false;
    try {
      try (FileChannel channel =
          FileChannel.open(partial, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
        created = true;
        content.write(channel);
        channel.force(true);
      }
      Files.move(
          partial, target, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    } catch (Throwable e) {
      if (created) {
        deleteQuietly(partial, e);
      }
      throw e;
    }
    Path folder = target.toAbsolutePath().getParent();
    if (folder != null) {
      flushFolder(folder);
    }
  }

  /** Returns a name that no other writer has: one that was killed may have left its file. */
  private static Path partial(Path target) {
    String suffix =
        String.format(Locale.ROOT, ".partial-%016x", UUID.randomUUID().getMostSignificantBits());
    boolean fits =
        target.getFileSystem() != FileSystems.getDefault()
            || PathBytes.name(target).length + suffix.length() <= MAX_NAME_BYTES;
    return fits ? PathBytes.withSuffix(target, suffix) : target.resolveSibling(suffix);
  }

  private static void deleteQuietly(Path partial, Throwable cause) {
    try {
      Files.deleteIfExists(partial);
    } catch (IOException e) {
      cause.addSuppressed(e);
    }
  }

  /**
   * Makes renamings and new files in a folder last. Not all platforms and file systems can, so a
   * failure is no error.
   */
  public static void flushFolder(Path folder) {
    if (folder.getFileSystem() != FileSystems.getDefault()) {
      return;
    }
    try (FileChannel channel = FileChannel.open(folder, StandardOpenOption.READ)) {
      channel.force(true);
    } catch (IOException e) {
      return;
    }
  }
}
