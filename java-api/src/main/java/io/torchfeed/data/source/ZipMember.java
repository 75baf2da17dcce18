// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A member of a zip archive, by its central directory: unlike {@code java.util.zip}, it tells where
 * the bytes of a stored member are.
 *
 * @param name in the archive
 * @param method 0 if it is stored, 8 if it is deflated
 * @param checksum CRC-32 of its bytes
 * @param compressedBytes its size in the archive
 * @param bytes its size
 * @param header the position of its local header
 */
record ZipMember(
    String name, int method, long checksum, long compressedBytes, long bytes, long header) {
  static final int STORED = 0;
  static final int DEFLATED = 8;

  private static final int END = 0x06054b50;
  private static final int END_BYTES = 22;
  private static final int MAX_COMMENT = 0xFFFF;
  private static final int LOCATOR_BYTES = 20;
  private static final int END64 = 0x06064b50;
  private static final int END64_BYTES = 56;
  private static final int CENTRAL = 0x02014b50;
  private static final int CENTRAL_BYTES = 46;
  private static final int LOCAL = 0x04034b50;
  private static final int LOCAL_BYTES = 30;
  private static final int ZIP64_FIELD = 1;
  private static final long IN_ZIP64 = 0xFFFFFFFFL;
  private static final long MANY = 0xFFFF;
  private static final int MAX_DIRECTORY = 1 << 26;
  private static final String RULE = "must be a whole zip archive, as an npz file is";

  /** Returns the member with a name. */
  static ZipMember of(FileHead file, String name) {
    Map<String, ZipMember> all = all(file);
    ZipMember member = all.get(name);
    if (member == null) {
      throw file.refused(
          "must have the member " + FieldFormat.quote(name), described(all.keySet()));
    }
    return member;
  }

  /** Returns the names of members for a message. */
  static String described(Set<String> names) {
    return names.isEmpty() ? "an empty archive" : FieldFormat.quote(String.join(", ", names));
  }

  /**
   * The central directory of an archive.
   *
   * @param bytes its records
   * @param members their number by the end of the archive, or {@code 0xFFFF} for that or more
   */
  private record Directory(ByteBuffer bytes, long members) {}

  /** Returns the members by name, in the order of the archive. */
  static Map<String, ZipMember> all(FileHead file) {
    return all(file, RULE);
  }

  /**
   * Returns the members by name, in the order of the archive.
   *
   * @param rule for the message, if the file is no archive
   */
  static Map<String, ZipMember> all(FileHead file, String rule) {
    Directory directory = directory(file, rule);
    Map<String, ZipMember> members = new LinkedHashMap<>();
    long count = 0;
    while (directory.bytes.hasRemaining()) {
      ZipMember member = next(file, directory.bytes);
      members.put(member.name, member);
      count++;
    }
    if (Math.min(count, MANY) != Math.min(directory.members, MANY)) {
      throw file.refused(
          RULE, "one of %d members whose directory has %d".formatted(directory.members, count));
    }
    return members;
  }

  private static boolean isBegun(FileHead file) {
    return file.size() >= Integer.BYTES
        && littleEndian(file, 0, Integer.BYTES, "an archive").getInt() == LOCAL;
  }

  private static Directory directory(FileHead file, String rule) {
    int tailBytes = (int) Math.min(file.size(), END_BYTES + MAX_COMMENT);
    long tailAt = file.size() - tailBytes;
    ByteBuffer tail = littleEndian(file, tailAt, tailBytes, "an archive");
    int at = tailBytes - END_BYTES;
    while (at >= 0 && tail.getInt(at) != END) {
      at--;
    }
    if (at < 0 && isBegun(file)) {
      throw file.refused(RULE, "the begin of one without its end; write or download it again");
    }
    if (at < 0) {
      throw file.notThisFormat(rule);
    }
    long members = Short.toUnsignedInt(tail.getShort(at + 10));
    long bytes = Integer.toUnsignedLong(tail.getInt(at + 12));
    long from = Integer.toUnsignedLong(tail.getInt(at + 16));
    if (bytes == IN_ZIP64 || from == IN_ZIP64) {
      ByteBuffer locator =
          littleEndian(file, tailAt + at - LOCATOR_BYTES, LOCATOR_BYTES, "the place of its end");
      ByteBuffer end = littleEndian(file, locator.getLong(8), END64_BYTES, "the end of an archive");
      if (end.getInt(0) != END64) {
        throw file.refused(RULE, "one without an end");
      }
      members = end.getLong(32);
      bytes = end.getLong(40);
      from = end.getLong(48);
    }
    if (bytes < 0 || bytes > MAX_DIRECTORY) {
      throw file.refused(
          "must have a directory of at most %d bytes".formatted(MAX_DIRECTORY), "one of " + bytes);
    }
    return new Directory(littleEndian(file, from, (int) bytes, "a directory"), members);
  }

  private static ByteBuffer littleEndian(FileHead file, long from, int bytes, String what) {
    return file.bytes(from, bytes, what).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static ZipMember next(FileHead file, ByteBuffer in) {
    int at = in.position();
    if (in.remaining() < CENTRAL_BYTES) {
      throw file.refused(RULE, "a damaged directory");
    }
    int nameBytes = Short.toUnsignedInt(in.getShort(at + 28));
    int extraBytes = Short.toUnsignedInt(in.getShort(at + 30));
    int commentBytes = Short.toUnsignedInt(in.getShort(at + 32));
    int end = at + CENTRAL_BYTES + nameBytes + extraBytes + commentBytes;
    if (in.getInt(at) != CENTRAL || end > in.limit()) {
      throw file.refused(RULE, "a damaged directory");
    }
    List<Long> sizes = new ArrayList<>();
    for (int field : new int[] {24, 20, 42}) {
      sizes.add(Integer.toUnsignedLong(in.getInt(at + field)));
    }
    readZip64(in, at + CENTRAL_BYTES + nameBytes, extraBytes, sizes);
    byte[] name = new byte[nameBytes];
    in.get(at + CENTRAL_BYTES, name);
    boolean isEncrypted = (in.getShort(at + 8) & 1) != 0;
    in.position(end);
    return new ZipMember(
        new String(name, StandardCharsets.UTF_8),
        isEncrypted ? -1 : Short.toUnsignedInt(in.getShort(at + 10)),
        Integer.toUnsignedLong(in.getInt(at + 16)),
        sizes.get(1),
        sizes.get(0),
        sizes.get(2));
  }

  /** Replaces the sizes and the position that have no place in 32 bits. */
  private static void readZip64(ByteBuffer in, int from, int bytes, List<Long> sizes) {
    for (int at = from; at + 4 <= from + bytes; ) {
      int end = Math.min(from + bytes, at + 4 + Short.toUnsignedInt(in.getShort(at + 2)));
      if (in.getShort(at) == ZIP64_FIELD) {
        int value = at + 4;
        for (int i = 0; i < sizes.size() && value + Long.BYTES <= end; i++) {
          if (sizes.get(i) == IN_ZIP64) {
            sizes.set(i, in.getLong(value));
            value += Long.BYTES;
          }
        }
      }
      at = end;
    }
  }

  /** Returns the bytes of the member as they are in the archive. */
  FileHead raw(FileHead file) {
    ByteBuffer local = littleEndian(file, header, LOCAL_BYTES, "the header of " + name);
    long from =
        header
            + LOCAL_BYTES
            + Short.toUnsignedInt(local.getShort(26))
            + Short.toUnsignedInt(local.getShort(28));
    if (local.getInt(0) != LOCAL || compressedBytes < 0 || from > file.size() - compressedBytes) {
      throw file.refused(RULE, "one in which " + FieldFormat.quote(name) + " is damaged");
    }
    return file.within(from, compressedBytes);
  }

  /** Returns the member, which must not be compressed. */
  FileHead stored(FileHead file) {
    if (method != STORED || bytes != compressedBytes) {
      throw file.refused(
          "must have %s without compression, to be read in place"
              .formatted(FieldFormat.quote(name)),
          "a compressed member; read it by NumpyFile, or save it by numpy.savez");
    }
    return raw(file);
  }
}
