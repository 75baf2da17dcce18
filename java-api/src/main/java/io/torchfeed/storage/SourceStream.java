// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Objects;

/** The bytes of a source from the first to the last. */
final class SourceStream extends InputStream {
  private final ByteSource source;
  private final long size;
  private long position;

  SourceStream(ByteSource source, long size) {
    this.source = source;
    this.size = size;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] into, int from, int count) throws IOException {
    Objects.checkFromIndexSize(from, count, into.length);
    int most = (int) Math.min(count, size - position);
    if (most == 0) {
      return count == 0 ? 0 : -1;
    }
    source.readFully(position, ByteBuffer.wrap(into, from, most));
    position += most;
    return most;
  }

  @Override
  public long skip(long count) {
    long skipped = Math.max(0, Math.min(count, size - position));
    position += skipped;
    return skipped;
  }

  @Override
  public int available() {
    return 0; // each read may wait for a store
  }
}
