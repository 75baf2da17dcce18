// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import java.io.IOException;
import java.io.InputStream;

/** The first bytes of a stream. */
final class FirstBytes extends InputStream {
  private final InputStream stream;
  private long left;

  FirstBytes(InputStream stream, long left) {
    this.stream = stream;
    this.left = left;
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] into, int from, int length) throws IOException {
    if (left == 0) {
      return -1;
    }
    int count = stream.read(into, from, (int) Math.min(length, left));
    left -= Math.max(count, 0);
    return count;
  }

  @Override
  public long skip(long count) throws IOException {
    long skipped = stream.skip(Math.min(count, left));
    left -= skipped;
    return skipped;
  }
}
