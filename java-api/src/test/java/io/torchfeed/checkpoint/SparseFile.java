// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A new file in which zeros take no space on the disk. */
final class SparseFile implements WritableByteChannel {
  private static final ByteBuffer ZEROS = ByteBuffer.allocateDirect(1 << 20);

  private final FileChannel file;
  private long end;

  private SparseFile(FileChannel file) {
    this.file = file;
  }

  static SparseFile create(Path path) throws IOException {
    return new SparseFile(
        FileChannel.open(path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE));
  }

  @Override
  public int write(ByteBuffer bytes) throws IOException {
    int count = Math.min(bytes.remaining(), ZEROS.capacity());
    ByteBuffer piece = bytes.slice().limit(count);
    if (!piece.equals(ZEROS.duplicate().limit(count))) {
      count = file.write(piece, end);
    }
    bytes.position(bytes.position() + count);
    end += count;
    return count;
  }

  @Override
  public boolean isOpen() {
    return file.isOpen();
  }

  @Override
  public void close() throws IOException {
    if (end > file.size()) {
      file.write(ByteBuffer.allocate(1), end - 1); // the last byte is a zero
    }
    file.close();
  }
}
