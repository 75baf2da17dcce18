// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/** Reads the parts of a {@link GraphFile} through one buffer, after a look at its sum. */
final class GraphReader {
  private static final int BUFFER_BYTES = 1 << 18;

  private final Path path;
  private final FileChannel channel;
  private final ByteBuffer buffer =
      ByteBuffer.allocate(BUFFER_BYTES).order(ByteOrder.LITTLE_ENDIAN).limit(0);

  /** How much of the content is not read yet. */
  private long left;

  GraphReader(Path path, FileChannel channel) throws IOException {
    this.path = path;
    this.channel = channel;
    left = channel.size() - Integer.BYTES;
    requireSum();
  }

  void require(boolean holds, String rule) {
    if (!holds) {
      throw new IllegalArgumentException("%s must have %s".formatted(path, rule));
    }
  }

  private void requireSum() throws IOException {
    require(left >= 0, "a sum of its bytes at its end, but is too short");
    CRC32C sum = new CRC32C();
    long content = left;
    while (left > 0) {
      int count = (int) Math.min(left, Math.max(1, buffer.remaining()));
      next(count);
      sum.update(buffer.duplicate().limit(buffer.position() + count));
      buffer.position(buffer.position() + count);
    }
    left = Integer.BYTES;
    require(number() == (int) sum.getValue(), "the sum of its bytes at its end: it is damaged");
    channel.position(0);
    buffer.limit(0);
    left = content;
  }

  /** Makes the next bytes readable. */
  private ByteBuffer next(int bytes) throws IOException {
    require(bytes <= left, "all its parts, but breaks off");
    while (buffer.remaining() < bytes) {
      buffer.compact();
      boolean isOver = channel.read(buffer) < 0;
      buffer.flip();
      require(!isOver, "all its parts, but breaks off");
    }
    left -= bytes;
    return buffer;
  }

  private int count(int bytesEach, int count) {
    require(count >= 0 && (long) count * bytesEach <= left, "room for %d numbers".formatted(count));
    return count;
  }

  int number() throws IOException {
    return next(Integer.BYTES).getInt();
  }

  byte[] bytes(int count) throws IOException {
    byte[] bytes = new byte[count(1, count)];
    for (int i = 0; i < count; i++) {
      bytes[i] = next(1).get();
    }
    return bytes;
  }

  private int[] numbers(int count) throws IOException {
    int[] numbers = new int[count(Integer.BYTES, count)];
    for (int i = 0; i < count; i++) {
      numbers[i] = number();
    }
    return numbers;
  }

  private long number64() throws IOException {
    return next(Long.BYTES).getLong();
  }

  IdMap ids() throws IOException {
    int kind = number();
    require(kind == 0 || kind == 1, "ids of the kind 0 or 1, got " + kind);
    int size = number();
    if (kind == 0) {
      long[] ids = new long[count(Long.BYTES, size)];
      for (int i = 0; i < size; i++) {
        ids[i] = number64();
      }
      return IdMap.ofNumbers(ids);
    }
    int[] ends = numbers(size);
    return IdMap.ofTexts(bytes(size == 0 ? 0 : ends[size - 1]), ends);
  }

  CompressedRows rows(int rows, int columns) throws IOException {
    int foundRows = number();
    int foundColumns = number();
    require(
        foundRows == rows && foundColumns == columns,
        "%d x %d cells, as there are ids, got %d x %d"
            .formatted(rows, columns, foundRows, foundColumns));
    int entries = number();
    int[] starts = numbers(rows + 1);
    int[] indices = numbers(entries);
    return new CompressedRows(columns, starts, indices, values(entries));
  }

  double[] values(long count) throws IOException {
    require(count >= 0 && count <= left / Double.BYTES, "room for %d values".formatted(count));
    double[] values = new double[(int) count];
    for (int i = 0; i < values.length; i++) {
      values[i] = Double.longBitsToDouble(number64());
    }
    return values;
  }

  /** Texts in any order. */
  List<String> texts() throws IOException {
    int kind = number();
    require(kind == 1, "ids of the kind 1, got " + kind);
    int[] ends = numbers(number());
    byte[] bytes = bytes(ends.length == 0 ? 0 : ends[ends.length - 1]);
    List<String> texts = new ArrayList<>(ends.length);
    int start = 0;
    for (int end : ends) {
      require(start <= end && end <= bytes.length, "texts that end one behind the other");
      texts.add(new String(bytes, start, end - start, UTF_8));
      start = end;
    }
    return List.copyOf(texts);
  }

  void end() {
    require(left == 0, "nothing behind its parts, got %d bytes".formatted(left));
  }
}
