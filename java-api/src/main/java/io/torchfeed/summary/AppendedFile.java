// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.summary;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * A file that grows at its end, open only while it is written. After an error, for example on a
 * full disk, its bytes stay in memory, and the next {@link #flush} writes them. Not thread-safe.
 */
final class AppendedFile {
  private final Path path;
  private final ByteArrayOutputStream pending = new ByteArrayOutputStream();
  private long length;

  /** Appends to a file that exists. */
  AppendedFile(Path path) throws IOException {
    this.path = path;
    length = Files.size(path);
  }

  void append(byte[] bytes) {
    pending.writeBytes(bytes);
  }

  int pendingBytes() {
    return pending.size();
  }

  void flush() {
    if (pending.size() == 0) {
      return;
    }
    byte[] bytes = pending.toByteArray();
    try {
      if (!Files.exists(path)) {
        throw new NoSuchFileException(path.toString());
      }
      // unlike a channel, it writes for a thread that is interrupted, too
      try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
        file.seek(length);
        file.write(bytes);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(
          "cannot write %s; its new values stay in memory for the next flush".formatted(path), e);
    }
    length += bytes.length;
    pending.reset();
  }
}
