// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.ring;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/**
 * The format of a dump: eight bytes of a name, the length of the header as an int, the header as
 * JSON in UTF-8, the number of events as a long, seven longs for each event, and CRC-32C of all
 * that as a long. Little-endian.
 */
public final class DumpFormat {
  /** The end of the names of dumps. */
  public static final String EXTENSION = ".tftrace";

  /** The version in the header. */
  public static final int VERSION = 1;

  private static final byte[] MAGIC = utf8("TFTRACE1");
  private static final int CHUNK = 1 << 16;

  private DumpFormat() {}

  /** Returns the bytes at the beginning of each dump. */
  public static byte[] magic() {
    return MAGIC.clone();
  }

  static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Writes a dump, of whole events. */
  public static void write(WritableByteChannel out, byte[] header, long[] events)
      throws IOException {
    CRC32C sum = new CRC32C();
    ByteBuffer buffer = ByteBuffer.allocate(CHUNK).order(ByteOrder.LITTLE_ENDIAN);
    buffer.put(MAGIC).putInt(header.length);
    flush(buffer, sum, out);
    flush(ByteBuffer.wrap(header).position(header.length), sum, out);
    buffer.putLong(events.length / Event.FIELDS);
    for (long value : events) {
      if (buffer.remaining() < Long.BYTES) {
        flush(buffer, sum, out);
      }
      buffer.putLong(value);
    }
    flush(buffer, sum, out);
    buffer.putLong(sum.getValue());
    flush(buffer, sum, out);
  }

  private static void flush(ByteBuffer buffer, CRC32C sum, WritableByteChannel out)
      throws IOException {
    buffer.flip();
    sum.update(buffer.duplicate());
    while (buffer.hasRemaining()) { // a full disk takes a part
      out.write(buffer);
    }
    buffer.clear();
  }
}
