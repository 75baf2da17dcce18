// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.summary;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

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
    ByteBuffer bytes = ByteBuffer.wrap(pending.toByteArray());
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
      while (bytes.hasRemaining()) {
        channel.write(bytes, length + bytes.position());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(
          "cannot write %s; its new values stay in memory for the next flush".formatted(path), e);
    }
    length += bytes.capacity();
    pending.reset();
  }
}
