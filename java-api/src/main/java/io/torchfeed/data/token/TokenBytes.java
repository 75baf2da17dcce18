// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.token;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.RegularFile;
import io.torchfeed.memory.DType;
import io.torchfeed.storage.ByteSource;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/** The bytes of ids, little-endian. */
final class TokenBytes {
  private static final int CHUNK_BYTES = 1 << 20;

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
    return new UncheckedIOException(
        "cannot read tokens from %s: %s".formatted(file, Failures.reason(e)), e);
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
