// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * A reader of the parts of a {@link GraphFile} through one buffer, which first verifies the
 * checksum.
 */
final class GraphReader {
  private static final int BUFFER_BYTES = 1 << 18;

  private final Path path;
  private final FileChannel channel;
  private final ByteBuffer buffer =
      ByteBuffer.allocate(BUFFER_BYTES).order(ByteOrder.LITTLE_ENDIAN).limit(0);

  /** The number of bytes of content not yet read. */
  private long left;

  GraphReader(Path path, FileChannel channel) throws IOException {
    this.path = path;
    this.channel = channel;
    left = channel.size() - Integer.BYTES;
    requireSum();
  }

  void require(boolean holds, String rule) {
    if (!holds) {
      throw refused(rule);
    }
  }

  /**
   * Creates the exception of a broken rule; for rules checked for each number, so that their text
   * is formatted only on failure.
   */
  IllegalArgumentException refused(String rule) {
    return new IllegalArgumentException("%s must have %s".formatted(path, rule));
  }

  private void requireSum() throws IOException {
    require(left >= 0, "a checksum at its end, but is too short");
    CRC32C sum = new CRC32C();
    long content = left;
    while (left > 0) {
      int count = (int) Math.min(left, Math.max(1, buffer.remaining()));
      next(count);
      sum.update(buffer.duplicate().limit(buffer.position() + count));
      buffer.position(buffer.position() + count);
    }
    left = Integer.BYTES;
    require(number() == (int) sum.getValue(), "the checksum of its bytes: it is damaged");
    channel.position(0);
    buffer.limit(0);
    left = content;
  }

  /** Returns the buffer with the next bytes readable. */
  private ByteBuffer next(int bytes) throws IOException {
    require(bytes <= left, "all its parts, but is truncated");
    while (buffer.remaining() < bytes) {
      buffer.compact();
      boolean isOver = channel.read(buffer) < 0;
      buffer.flip();
      require(!isOver, "all its parts, but is truncated");
    }
    left -= bytes;
    return buffer;
  }

  private int count(int bytesEach, int count) {
    require(
        count >= 0 && (long) count * bytesEach <= left, "the bytes of %d numbers".formatted(count));
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
    require(kind == 0 || kind == 1, "ids of kind 0 or 1, got " + kind);
    int size = number();
    if (kind == 0) {
      long[] ids = new long[count(Long.BYTES, size)];
      for (int i = 0; i < size; i++) {
        ids[i] = number64();
        if (i > 0 && Long.compareUnsigned(ids[i - 1], ids[i]) >= 0) {
          throw notAscending(i);
        }
      }
      return IdMap.ofNumbers(ids);
    }
    int[] ends = ends(size);
    byte[] texts = textBytes(ends);
    for (int i = 1; i < size; i++) {
      int before = i == 1 ? 0 : ends[i - 2];
      int start = ends[i - 1];
      if (Arrays.compareUnsigned(texts, before, start, texts, start, ends[i]) >= 0) {
        throw notAscending(i);
      }
    }
    return IdMap.ofTexts(texts, ends);
  }

  /**
   * Creates the exception for ids out of order: rows and columns are numbered in the order of the
   * ids, so a different order would move edges.
   */
  private IllegalArgumentException notAscending(int number) {
    return refused(
        "ascending ids, got number %d not below number %d".formatted(number - 1, number));
  }

  /** Reads the ends of consecutive texts. */
  private int[] ends(int size) throws IOException {
    int[] ends = numbers(size);
    int start = 0;
    for (int end : ends) {
      if (end < start) {
        throw refused("ascending ends of texts, got %d before %d".formatted(start, end));
      }
      start = end;
    }
    return ends;
  }

  private byte[] textBytes(int... ends) throws IOException {
    byte[] texts = bytes(ends.length == 0 ? 0 : ends[ends.length - 1]);
    int start = 0;
    for (int i = 0; i < ends.length; i++) {
      if (!Utf8.isValid(texts, start, ends[i])) {
        throw refused("ids in UTF-8, got other bytes in number %d".formatted(i));
      }
      start = ends[i];
    }
    return texts;
  }

  CsrMatrix rows(int rows, int columns) throws IOException {
    int foundRows = number();
    int foundColumns = number();
    require(
        foundRows == rows && foundColumns == columns,
        "%d x %d cells, to match its ids, got %d x %d"
            .formatted(rows, columns, foundRows, foundColumns));
    int entries = count(Integer.BYTES, number());
    int[] starts = numbers(rows + 1);
    requireStarts(starts, entries);
    int[] indices = numbers(entries);
    requireColumns(starts, indices, columns);
    return new CsrMatrix(columns, starts, indices, values(entries));
  }

  private void requireStarts(int[] starts, int entries) {
    int last = starts.length - 1;
    for (int row = 0; row < last; row++) {
      if (starts[row + 1] < starts[row]) {
        throw refused(
            "ascending row starts, got %d before %d".formatted(starts[row], starts[row + 1]));
      }
    }
    if (starts[0] != 0 || starts[last] != entries) {
      throw refused(
          "row starts from 0 to the number of entries, %d, got %d to %d"
              .formatted(entries, starts[0], starts[last]));
    }
  }

  /**
   * Checks the columns by accumulating sign bits, since a branch for each entry would slow down
   * loading.
   */
  private void requireColumns(int[] starts, int[] indices, int columns) {
    int signs = 0;
    for (int row = 0; row < starts.length - 1; row++) {
      int before = 0;
      for (int at = starts[row]; at < starts[row + 1]; at++) {
        int column = indices[at];
        signs |= column | (columns - 1 - column) | (column - before);
        before = column;
      }
    }
    if (signs < 0) {
      throw wrongColumn(starts, indices, columns);
    }
  }

  private IllegalArgumentException wrongColumn(int[] starts, int[] indices, int columns) {
    for (int row = 0; row < starts.length - 1; row++) {
      for (int at = starts[row]; at < starts[row + 1]; at++) {
        if (indices[at] < 0 || indices[at] >= columns) {
          return refused("columns in [0, %d], got %d".formatted(columns - 1, indices[at]));
        }
        if (at > starts[row] && indices[at] < indices[at - 1]) {
          return refused(
              "ascending columns in each row, got %d before %d in row %d"
                  .formatted(indices[at - 1], indices[at], row));
        }
      }
    }
    throw new IllegalStateException("all columns are valid");
  }

  double[] values(long count) throws IOException {
    require(
        count >= 0 && count <= Math.min(left / Double.BYTES, DenseRows.MAX_VALUES),
        "the bytes of %d values".formatted(count));
    double[] values = new double[(int) count];
    for (int i = 0; i < values.length; i++) {
      values[i] = Double.longBitsToDouble(number64());
    }
    return values;
  }

  /** Reads texts in any order. */
  List<String> texts() throws IOException {
    int kind = number();
    require(kind == 1, "ids of kind 1, got " + kind);
    int[] ends = ends(number());
    byte[] bytes = textBytes(ends);
    List<String> texts = new ArrayList<>(ends.length);
    int start = 0;
    for (int end : ends) {
      texts.add(new String(bytes, start, end - start, UTF_8));
      start = end;
    }
    return List.copyOf(texts);
  }

  void end() {
    require(left == 0, "nothing after its parts, got %d bytes".formatted(left));
  }
}
