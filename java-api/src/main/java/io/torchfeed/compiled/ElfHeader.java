// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.compiled;

import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.zip.ZipException;

/**
 * The begin of a shared library. Loading one that is cut off ends the process with SIGBUS.
 *
 * <p>The object file with the weights does not say that it needs no executable stack, so the linker
 * demands one for the whole library. From 2.41 on, glibc refuses to load it then; an older one
 * makes the stacks of all threads executable and takes away the pages that guard those of the JVM.
 */
final class ElfHeader {
  private static final int MAGIC = 0x464c457f;
  private static final int BYTES = 64;
  private static final int CLASS_AND_ORDER = 0x0102; // 64 bits, little endian
  private static final int CLASS_AT = 4;
  private static final int MACHINE_AT = 18;
  private static final int SEGMENTS_AT = 32;
  private static final int SEGMENT_BYTES_AT = 54;
  private static final int SEGMENT_COUNT_AT = 56;
  private static final int FLAGS_IN_SEGMENT = 4;
  private static final int OFFSET_IN_SEGMENT = 8;
  private static final int FILE_BYTES_IN_SEGMENT = 32;
  private static final int MIN_SEGMENT_BYTES = 56;
  private static final int STACK = 0x6474e551; // PT_GNU_STACK
  private static final int EXECUTABLE = 1;

  private ElfHeader() {}

  /**
   * Requires that a file is a shared library and has all of its segments, and takes its demand for
   * an executable stack out of the file.
   *
   * @return the number of its processor's architecture
   * @throws ZipException if it is none, with the reason
   * @throws EOFException if it is cut off
   * @throws IOException if it cannot be read or written
   */
  static int prepare(Path library) throws IOException {
    try (FileChannel channel = FileChannel.open(library, READ, WRITE)) {
      ByteBuffer header = read(channel, 0, BYTES);
      if (header.getInt(0) != MAGIC || header.getShort(CLASS_AT) != CLASS_AND_ORDER) {
        throw new ZipException("it is no ELF file of 64 bits");
      }
      long start = header.getLong(SEGMENTS_AT);
      int bytes = Short.toUnsignedInt(header.getShort(SEGMENT_BYTES_AT));
      int count = Short.toUnsignedInt(header.getShort(SEGMENT_COUNT_AT));
      if (bytes < MIN_SEGMENT_BYTES || start < 0) {
        throw new ZipException("its table of segments is malformed");
      }
      for (int i = 0; i < count; i++) {
        long at = start + (long) i * bytes;
        ByteBuffer segment = read(channel, at, MIN_SEGMENT_BYTES);
        long offset = segment.getLong(OFFSET_IN_SEGMENT);
        long length = segment.getLong(FILE_BYTES_IN_SEGMENT);
        if (offset < 0 || length < 0 || length > channel.size() - offset) {
          throw new EOFException("it ends after %s bytes".formatted(channel.size()));
        }
        if (segment.getInt(0) == STACK) {
          segment.putInt(FLAGS_IN_SEGMENT, segment.getInt(FLAGS_IN_SEGMENT) & ~EXECUTABLE);
          channel.write(segment.rewind(), at);
        }
      }
      return Short.toUnsignedInt(header.getShort(MACHINE_AT));
    }
  }

  private static ByteBuffer read(FileChannel channel, long from, int bytes) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    while (buffer.hasRemaining()) {
      if (channel.read(buffer, from + buffer.position()) < 0) {
        throw new EOFException("it ends after %s bytes".formatted(channel.size()));
      }
    }
    return buffer;
  }
}
