// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.UUID;

/**
 * A file that is written under another name beside it, flushed and renamed, so that it is the old
 * one or complete after a kill or power cut at any moment, and if others write it at the same time.
 */
public final class OutputFile {
  private OutputFile() {}

  /** The content of a file. */
  @FunctionalInterface
  public interface Content {
    /**
     * Writes the content.
     *
     * @param file an empty file, which may be opened as often as needed, but not replaced
     * @throws IOException if it cannot be written
     */
    void write(Path file) throws IOException;
  }

  /**
   * Writes bytes to a file, as {@link #write(Path, Content)}.
   *
   * @param file the file
   * @param content all bytes of it
   * @throws IOException if it cannot be written
   */
  public static void write(Path file, byte[] content) throws IOException {
    write(file, partial -> Files.write(partial, content));
  }

  /**
   * Writes a file, or replaces one; of several writers, the last that ends wins. If writing fails,
   * nothing changes and nothing is left.
   *
   * @param file the file; a link to a file is followed, one to nothing is replaced
   * @param content writes the content
   * @throws IOException if the file cannot be written, or the path names a folder, a pipe or a
   *     device, which stays
   */
  public static void write(Path file, Content content) throws IOException {
    Path target = Files.exists(file) ? file.toRealPath() : file;
    if (Files.exists(target) && !Files.isRegularFile(target)) {
      throw new FileSystemException(
          file.toString(), null, "it exists and is no regular file, which would be replaced");
    }
    String name = target.getFileName() + ".partial-" + UUID.randomUUID();
    Path partial = Files.createFile(target.resolveSibling(name));
    try {
      content.write(partial);
      flush(partial, StandardOpenOption.WRITE);
      Files.move(
          partial, target, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(partial);
    }
    flushFolder(target);
  }

  /** Flushes the folder, because the rename reaches the disk only with it. */
  private static void flushFolder(Path file) {
    Path folder = file.toAbsolutePath().getParent();
    if (folder == null) {
      return;
    }
    try {
      flush(folder, StandardOpenOption.READ);
    } catch (IOException e) {
      // Some platforms cannot open folders; the rename is atomic there as well.
    }
  }

  private static void flush(Path path, StandardOpenOption access) throws IOException {
    try (FileChannel channel = FileChannel.open(path, access)) {
      channel.force(true);
    }
  }
}
