// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.token;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.FileContent;
import io.torchfeed.internal.RegularFile;
import io.torchfeed.memory.DType;
import io.torchfeed.storage.ByteSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The bytes of ids, little-endian. */
final class TokenBytes {
  private static final int CHUNK_BYTES = 1 << 20;
  private static final byte[] NPY = "\u0093NUMPY".getBytes(StandardCharsets.ISO_8859_1);

  private TokenBytes() {}

  /** Receives the ids of a file. */
  @FunctionalInterface
  interface Visitor {
    void visit(long position, long id);
  }

  /** Returns the ids of a file behind its header. */
  static TokenPart part(Path file, DType dtype, long headerBytes) {
    RegularFile.require(file);
    long size;
    try {
      size = Files.size(file);
    } catch (IOException e) {
      throw unreadable(file, e);
    }
    if (size < headerBytes || (size - headerBytes) % dtype.bytes() != 0) {
      throw new IllegalArgumentException(
          "%s must have whole ids of %s, %d bytes each, behind %d bytes, got a file of %d bytes"
              .formatted(file, dtype, dtype.bytes(), headerBytes, size));
    }
    return new TokenPart(file, dtype, headerBytes, (size - headerBytes) / dtype.bytes());
  }

  static UncheckedIOException unreadable(Path file, IOException e) {
    String reason = Failures.reason(e);
    String named = reason.startsWith(file.toString()) ? reason : file + ": " + reason;
    return new UncheckedIOException("cannot read tokens: " + named, e);
  }

  /**
   * Refuses a file without a header of its own format that begins as one of another format: by
   * magics of six bytes or more, which ids begin with by no accident.
   */
  static void requireRaw(TokenPart part) {
    byte[] begin;
    try (ByteSource source = ByteSource.file(part.path())) {
      begin = new byte[(int) Math.min(source.size(), FileContent.BEGIN_BYTES)];
      source.readFully(0, ByteBuffer.wrap(begin));
    } catch (IOException e) {
      throw unreadable(part.path(), e);
    }
    String content = content(begin, part.dtype());
    if (content != null) {
      throw new IllegalArgumentException(
          "%s must have nothing but ids, got %s".formatted(part.path(), content));
    }
  }

  private static @Nullable String content(byte[] begin, DType dtype) {
    if (startsWith(begin, NPY)) {
      return "an npy file of numpy.save with a header of %d bytes; read it by"
          .concat(" TokenFile.raw(DType.%s, %d, file), with the type of its array")
          .formatted(npyHeader(begin), dtype, npyHeader(begin));
    }
    if (startsWith(begin, MegatronIndex.MAGIC)) {
      return "the index of a file of Megatron-LM; open the .bin file by TokenFile.megatron";
    }
    String content = FileContent.of(begin);
    return content != null && content.startsWith("a Git") ? content : null;
  }

  /** Returns the bytes before the array: the magic, the version, a length, and the text. */
  private static long npyHeader(byte[] begin) {
    ByteBuffer header = ByteBuffer.wrap(Arrays.copyOf(begin, NPY.length + 6));
    header.order(ByteOrder.LITTLE_ENDIAN);
    return header.get(NPY.length) == 1
        ? NPY.length + 4L + (header.getShort(NPY.length + 2) & 0xffff)
        : NPY.length + 6L + (header.getInt(NPY.length + 2) & 0xffffffffL);
  }

  private static boolean startsWith(byte[] begin, byte[] magic) {
    return begin.length >= magic.length
        && Arrays.equals(begin, 0, magic.length, magic, 0, magic.length);
  }

  /** Calls the visitor with each id, in order. */
  static void scan(TokenPart part, Visitor visitor) {
    int bytes = part.dtype().bytes();
    long most = CHUNK_BYTES / bytes;
    ByteBuffer chunk = buffer(CHUNK_BYTES);
    try (ByteSource source = ByteSource.file(part.path())) {
      for (long done = 0; done < part.tokens(); done += most) {
        int count = (int) Math.min(most, part.tokens() - done);
        source.readFully(part.position(done), chunk.clear().limit(count * bytes));
        for (int i = 0; i < count; i++) {
          visitor.visit(done + i, get(chunk, i, part.dtype()));
        }
      }
    } catch (IOException e) {
      throw unreadable(part.path(), e);
    }
  }

  static ByteBuffer buffer(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Returns an id of a buffer. */
  static long get(ByteBuffer buffer, int id, DType dtype) {
    return switch (dtype) {
      case UINT8 -> buffer.get(id) & 0xff;
      case UINT16 -> buffer.getShort(2 * id) & 0xffff;
      case INT16 -> buffer.getShort(2 * id);
      case UINT32 -> buffer.getInt(4 * id) & 0xffffffffL;
      case INT32 -> buffer.getInt(4 * id);
      case INT64 -> buffer.getLong(8 * id);
      default -> throw new IllegalArgumentException("ids cannot be of " + dtype);
    };
  }

  /** Appends an id to a buffer. */
  static void put(ByteBuffer buffer, long id, DType dtype) {
    switch (dtype.bytes()) {
      case 1 -> buffer.put((byte) id);
      case 2 -> buffer.putShort((short) id);
      case 4 -> buffer.putInt((int) id);
      default -> buffer.putLong(id);
    }
  }

  /** Returns the least and the greatest id of a type. */
  static long[] range(DType dtype) {
    int bits = 8 * dtype.bytes();
    boolean isSigned = dtype == DType.INT16 || dtype == DType.INT32 || dtype == DType.INT64;
    return isSigned
        ? new long[] {-1L << (bits - 1), (1L << (bits - 1)) - 1}
        : new long[] {0, (1L << bits) - 1};
  }
}
