// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.internal.Quotes;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import org.jspecify.annotations.Nullable;

/**
 * A zip archive that is a file or a part of one, as {@code torch.save} writes into a stream. {@link
 * java.util.zip.ZipFile} reads whole files alone, and of several archives in one file the last.
 */
final class StoredZip {
  private static final int END = 0x06054b50;
  private static final int END_BYTES = 22;
  private static final int MAX_COMMENT = 0xFFFF;
  private static final int LOCATOR = 0x07064b50;
  private static final int LOCATOR_BYTES = 20;
  private static final int LONG_END = 0x06064b50;
  private static final int LONG_END_BYTES = 56;
  private static final int CENTRAL = 0x02014b50;
  private static final int CENTRAL_BYTES = 46;
  private static final int LOCAL = 0x04034b50;
  private static final int LOCAL_BYTES = 30;
  private static final int LONG_FIELDS = 1;
  private static final int ENCRYPTED = 1;
  private static final long IN_LONG_FIELDS = 0xFFFFFFFFL;

  /** The most bytes of the list of entries. */
  private static final int MAX_LIST_BYTES = 1 << 26;

  /**
   * An entry.
   *
   * @param header where its header is in the archive
   * @param isStored whether its bytes are there as they are
   * @param checksum by CRC-32; 0 if it has none
   */
  record Entry(String name, long header, long bytes, boolean isStored, long checksum) {}

  /** The exception for bytes that are no archive, or the begin of one. */
  static final class NoEndException extends ZipException {
    private static final long serialVersionUID = 1L;

    NoEndException() {
      super("its end is missing");
    }
  }

  private final FileChannel channel;
  private final long start;
  private final long listStart;
  private final Map<String, Entry> entries = new LinkedHashMap<>();

  /**
   * Reads the list of entries.
   *
   * @param channel of the file, borrowed
   * @param start where the archive begins in it
   * @param bytes its number of bytes, at least 0
   * @throws ZipException if it is malformed
   */
  StoredZip(FileChannel channel, long start, long bytes) throws IOException {
    this.channel = channel;
    this.start = start;
    int tailBytes = (int) Math.min(bytes, LONG_END_BYTES + LOCATOR_BYTES + END_BYTES + MAX_COMMENT);
    ByteBuffer tail = read(bytes - tailBytes, tailBytes);
    int end = tailBytes - END_BYTES;
    while (end >= 0 && tail.getInt(end) != END) {
      end--;
    }
    if (end < 0) {
      throw new NoEndException();
    }
    long listBytes = Integer.toUnsignedLong(tail.getInt(end + 12));
    long from = Integer.toUnsignedLong(tail.getInt(end + 16));
    long listEnd = bytes - tailBytes + end;
    int locator = end - LOCATOR_BYTES;
    int longEnd = locator - LONG_END_BYTES;
    if (longEnd >= 0 && tail.getInt(locator) == LOCATOR && tail.getInt(longEnd) == LONG_END) {
      listBytes = tail.getLong(longEnd + 40);
      from = tail.getLong(longEnd + 48);
      listEnd = bytes - tailBytes + longEnd;
    }
    if (listBytes < 0 || listBytes > Math.min(listEnd, MAX_LIST_BYTES)) {
      throw new ZipException("its list of entries is malformed");
    }
    listStart = listEnd - listBytes;
    if (from < 0 || from > listStart) {
      throw new ZipException("its list of entries is elsewhere");
    }
    if (from < listStart) {
      throw new ZipException(
          "%d bytes are before it, as in a file of torch.distributed.checkpoint; open its folder's"
                  .formatted(listStart - from)
              + " .metadata by IndexedTensors");
    }
    readList(read(listStart, (int) listBytes));
  }

  private ByteBuffer read(long at, int bytes) throws IOException {
    ByteBuffer read = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    SavedBytes.readFully(channel, read, start + at);
    return read.flip();
  }

  private void readList(ByteBuffer list) throws ZipException {
    while (list.hasRemaining()) {
      if (list.remaining() < CENTRAL_BYTES || list.getInt(list.position()) != CENTRAL) {
        throw new ZipException("its list of entries is malformed");
      }
      ByteBuffer fixed = slice(list, CENTRAL_BYTES);
      String name = text(slice(list, Short.toUnsignedInt(fixed.getShort(28))));
      ByteBuffer extra = slice(list, Short.toUnsignedInt(fixed.getShort(30)));
      slice(list, Short.toUnsignedInt(fixed.getShort(32))); // a comment
      Entry entry = entry(name, fixed, extra);
      if (entries.put(name, entry) != null) {
        throw new ZipException("it has two entries " + Quotes.shortened(name));
      }
    }
  }

  private static Entry entry(String name, ByteBuffer fixed, ByteBuffer extra) throws ZipException {
    ByteBuffer longs = longFields(extra);
    long bytes = number(fixed.getInt(24), longs);
    long inArchive = number(fixed.getInt(20), longs);
    long header = number(fixed.getInt(42), longs);
    boolean isStored =
        fixed.getShort(10) == ZipEntry.STORED
            && bytes == inArchive
            && (fixed.getShort(8) & ENCRYPTED) == 0;
    return new Entry(name, header, bytes, isStored, Integer.toUnsignedLong(fixed.getInt(16)));
  }

  /** Returns the next bytes, and moves the position behind them. */
  private static ByteBuffer slice(ByteBuffer list, int bytes) throws ZipException {
    if (bytes > list.remaining()) {
      throw new ZipException("its list of entries is cut off");
    }
    ByteBuffer slice = list.slice(list.position(), bytes).order(ByteOrder.LITTLE_ENDIAN);
    list.position(list.position() + bytes);
    return slice;
  }

  private static String text(ByteBuffer bytes) throws ZipException {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
    } catch (CharacterCodingException e) {
      throw new ZipException("the name of an entry is malformed: it is not in UTF-8");
    }
  }

  /** Returns the numbers that need more than 32 bits. */
  private static ByteBuffer longFields(ByteBuffer extra) throws ZipException {
    while (extra.remaining() >= 2 * Short.BYTES) {
      int kind = Short.toUnsignedInt(extra.getShort());
      ByteBuffer field = slice(extra, Short.toUnsignedInt(extra.getShort()));
      if (kind == LONG_FIELDS) {
        return field;
      }
    }
    return ByteBuffer.allocate(0);
  }

  private static long number(int field, ByteBuffer longs) throws ZipException {
    long number = Integer.toUnsignedLong(field);
    if (number == IN_LONG_FIELDS && longs.remaining() >= Long.BYTES) {
      number = longs.getLong();
    }
    if (number < 0) {
      throw new ZipException("an entry has %d bytes, or begins there".formatted(number));
    }
    return number;
  }

  /** Returns the entries in the order of the archive. */
  Collection<Entry> entries() {
    return entries.values();
  }

  /** Returns an entry; null if there is none of this name. */
  @Nullable Entry find(String name) {
    return entries.get(name);
  }

  /**
   * Opens an entry. The stream moves the position of the channel, so only one is read at a time.
   *
   * @throws ZipException if it is compressed, or not within the archive
   */
  InputStream open(Entry entry) throws IOException {
    requireStored(entry);
    if (entry.header > listStart - LOCAL_BYTES) {
      throw outside(entry);
    }
    ByteBuffer header = read(entry.header, LOCAL_BYTES);
    if (header.getInt(0) != LOCAL) {
      throw outside(entry);
    }
    int variable =
        Short.toUnsignedInt(header.getShort(26)) + Short.toUnsignedInt(header.getShort(28));
    long from = entry.header + LOCAL_BYTES + variable;
    if (from > listStart || entry.bytes > listStart - from) {
      throw outside(entry);
    }
    channel.position(start + from);
    return new SavedBytes.FirstBytes(Channels.newInputStream(channel), entry.bytes);
  }

  private static ZipException outside(Entry entry) {
    return new ZipException("entry %s is not there".formatted(Quotes.shortened(entry.name)));
  }

  static void requireStored(Entry entry) throws ZipException {
    if (!entry.isStored) {
      throw new ZipException(
          "entry %s is compressed; load the file in Python and save it by torch.save"
              .formatted(Quotes.shortened(entry.name)));
    }
  }

  /**
   * Compares an entry that was read as a whole with its checksum, if it has one.
   *
   * @throws ZipException if it differs
   */
  static void requireWhole(Entry entry, CRC32 checksum) throws ZipException {
    if (entry.checksum != 0 && entry.checksum != checksum.getValue()) {
      throw new ZipException(
          "entry %s differs from its checksum".formatted(Quotes.shortened(entry.name)));
    }
  }
}
