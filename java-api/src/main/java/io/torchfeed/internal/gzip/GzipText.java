// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal.gzip;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import java.util.zip.ZipException;

/**
 * The decompressed text of the members of a gzip file. Zero bytes after a member are padding, as in
 * Python's {@code gzip}; anything else that is not a whole member is an error, where {@code
 * GZIPInputStream} ends early. Format: RFC 1952.
 */
public final class GzipText extends InputStream {
  private static final int BUFFER_BYTES = 1 << 16;
  private static final int MAGIC = 0x8b1f;
  private static final int DEFLATE = 8;
  private static final int HAS_CHECKSUM = 2;
  private static final int HAS_EXTRA = 4;
  private static final int HAS_NAME = 8;
  private static final int HAS_COMMENT = 16;
  private static final int RESERVED = 0xe0;
  private static final int REST_OF_HEADER = 6; // time, extra flags and system

  private final InputStream in;
  private final Inflater inflater = new Inflater(true);
  private final CRC32 textSum = new CRC32();
  private final CRC32 headerSum = new CRC32();
  private final byte[] buffer = new byte[BUFFER_BYTES];
  private int next;
  private int end;
  private long before; // stored bytes before the buffer
  private boolean isInMember;

  /** Reads the header of the first member. */
  public GzipText(InputStream in) throws IOException {
    this.in = in;
    try {
      readHeader(readByte());
    } catch (IOException e) {
      inflater.end();
      throw e;
    }
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] into, int from, int count) throws IOException {
    if (count == 0) {
      return 0;
    }
    while (isInMember || isAtMember()) {
      int read = inflate(into, from, count);
      if (read > 0) {
        textSum.update(into, from, read);
        return read;
      }
      if (inflater.finished()) {
        next = end - inflater.getRemaining();
        readTrailer();
      } else {
        fill();
        if (end == 0) {
          throw endedIn("a member");
        }
        inflater.setInput(buffer, 0, end);
      }
    }
    return -1;
  }

  private int inflate(byte[] into, int from, int count) throws IOException {
    try {
      int read = inflater.inflate(into, from, count);
      if (read == 0 && inflater.needsDictionary()) {
        throw new ZipException("a member needs a dictionary, which gzip does not have");
      }
      return read;
    } catch (DataFormatException e) {
      ZipException wrong = new ZipException("a member is damaged: " + e.getMessage());
      wrong.initCause(e);
      throw wrong;
    }
  }

  /** Skips padding, and reads the header of the next member; returns false at the end. */
  private boolean isAtMember() throws IOException {
    int first = 0;
    while (first == 0) {
      if (next == end) {
        fill();
      }
      if (end == 0) {
        return false;
      }
      first = buffer[next++] & 0xFF;
    }
    readHeader(first);
    return true;
  }

  private void readHeader(int first) throws IOException {
    headerSum.reset();
    headerSum.update(first);
    long at = before + next - 1;
    if ((first | headerByte() << 8) != MAGIC || headerByte() != DEFLATE) {
      throw new ZipException(
          "its stored bytes from %d on must be a member of gzip, or zero bytes after one"
              .formatted(at));
    }
    int flags = headerByte();
    if ((flags & RESERVED) != 0) {
      throw new ZipException("a member at byte %d has unknown flags, %d".formatted(at, flags));
    }
    skip(REST_OF_HEADER);
    if ((flags & HAS_EXTRA) != 0) {
      skip(headerByte() | headerByte() << 8);
    }
    skipText(flags & HAS_NAME);
    skipText(flags & HAS_COMMENT);
    int sum = (int) headerSum.getValue() & 0xFFFF;
    if ((flags & HAS_CHECKSUM) != 0 && (readByte() | readByte() << 8) != sum) {
      throw new ZipException("the header of a member at byte %d is damaged".formatted(at));
    }
    inflater.reset();
    inflater.setInput(buffer, next, end - next);
    textSum.reset();
    isInMember = true;
  }

  private void skip(int bytes) throws IOException {
    for (int i = 0; i < bytes; i++) {
      headerByte();
    }
  }

  private void skipText(int isPresent) throws IOException {
    while (isPresent != 0 && headerByte() != 0) {
      // the text ends with a zero byte
    }
  }

  private void readTrailer() throws IOException {
    isInMember = false;
    if (readNumber() != textSum.getValue()) {
      throw new ZipException("a member is damaged: its checksum is wrong");
    }
    if (readNumber() != (inflater.getBytesWritten() & 0xFFFF_FFFFL)) {
      throw new ZipException("a member is damaged: its length is wrong");
    }
  }

  private long readNumber() throws IOException {
    long number = 0;
    for (int i = 0; i < Integer.BYTES; i++) {
      number |= (long) readByte() << (Byte.SIZE * i);
    }
    return number;
  }

  private int headerByte() throws IOException {
    int value = readByte();
    headerSum.update(value);
    return value;
  }

  private int readByte() throws IOException {
    if (next == end) {
      fill();
      if (end == 0) {
        throw endedIn("the header or the checksum of a member");
      }
    }
    return buffer[next++] & 0xFF;
  }

  private EOFException endedIn(String what) {
    return new EOFException(
        "its %d stored bytes end in %s of the gzip data: it is incomplete; copy it again"
            .formatted(before, what));
  }

  /** Reads the next bytes into the buffer, which is empty after that at the end. */
  private void fill() throws IOException {
    before += end;
    next = 0;
    end = 0; // if reading fails
    end = Math.max(0, in.read(buffer, 0, buffer.length));
  }

  @Override
  public void close() throws IOException {
    inflater.end();
    in.close();
  }
}
