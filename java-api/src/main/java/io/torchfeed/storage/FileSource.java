// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.RegularFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A local file, read by {@code pread}. An interrupt closes the channel of a thread that reads; the
 * others open it again.
 */
final class FileSource implements ByteSource {
  private final Path path;
  private volatile FileChannel channel;
  private boolean isClosed;

  private FileSource(Path path, FileChannel channel) {
    this.path = path;
    this.channel = channel;
  }

  static FileSource open(Path path) throws ByteSourceException {
    String kind = RegularFile.otherKind(path);
    if (kind != null) {
      throw new ByteSourceException(
          path.toString(), 0, "it must be a regular file, got " + kind, null);
    }
    try {
      return new FileSource(path, FileChannel.open(path, StandardOpenOption.READ));
    } catch (IOException e) {
      throw new ByteSourceException(path.toString(), 0, Failures.reason(e), e);
    }
  }

  Path path() {
    return path;
  }

  @Override
  public String name() {
    return path.toString();
  }

  @Override
  public long size() throws IOException {
    return Files.size(path);
  }

  @Override
  public int read(long offset, ByteBuffer into) throws IOException {
    ReadArguments.require(offset, into);
    while (true) {
      FileChannel open = channel;
      try {
        return open.read(into, offset);
      } catch (ClosedByInterruptException e) {
        throw e;
      } catch (ClosedChannelException e) {
        reopen(open, e);
      }
    }
  }

  private synchronized void reopen(FileChannel closed, ClosedChannelException reason)
      throws IOException {
    if (isClosed) {
      throw reason;
    }
    if (channel == closed) {
      channel = FileChannel.open(path, StandardOpenOption.READ);
    }
  }

  @Override
  public synchronized void close() throws IOException {
    isClosed = true;
    channel.close();
  }
}
