// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * Which process stores which piece: a lock on a byte for each, which the system releases when a
 * process ends, however it ends. Two that store the same piece write the same bytes, so the locks
 * save work and are needed for nothing else. Thread-safe.
 */
final class Claims implements AutoCloseable {
  private final FileChannel channel;

  private Claims(FileChannel channel) {
    this.channel = channel;
  }

  static Claims open(Path file) throws IOException {
    return new Claims(FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE));
  }

  /** Returns the claim to a number, or null if another process or thread has it. */
  @Nullable FileLock claim(int number) throws IOException {
    try {
      return channel.tryLock(number, 1, false);
    } catch (OverlappingFileLockException e) {
      return null;
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
