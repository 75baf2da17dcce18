// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

/**
 * A range of the bytes of all files, concatenated in the order of the plan: the lines and the
 * compressed files whose first byte lies in it.
 *
 * @param start the offset of its first byte, at least 0
 * @param end the offset after its last byte, at least {@code start}
 * @param textOffset the number of bytes of decompressed text already read of the compressed file
 *     that begins at {@code start}, at least 0; 0 everywhere else
 */
public record ByteRange(long start, long end, long textOffset) {
  /**
   * Creates a range.
   *
   * @param start the offset of its first byte, at least 0
   * @param end the offset after its last byte, at least {@code start}
   * @param textOffset the number of bytes of decompressed text already read of the compressed file
   *     at {@code start}
   * @throws IllegalArgumentException if an argument is out of range
   */
  public ByteRange {
    if (start < 0 || end < start) {
      throw new IllegalArgumentException(
          "a range must have 0 <= start <= end, got [%d, %d)".formatted(start, end));
    }
    if (textOffset < 0) {
      throw new IllegalArgumentException("textOffset must be at least 0, got " + textOffset);
    }
  }

  /**
   * Creates a range with the text offset 0.
   *
   * @param start the offset of its first byte, at least 0
   * @param end the offset after its last byte, at least {@code start}
   * @throws IllegalArgumentException if an argument is out of range
   */
  public ByteRange(long start, long end) {
    this(start, end, 0);
  }

  /**
   * Returns the number of bytes.
   *
   * @return the number of bytes, at least 0
   */
  public long length() {
    return end - start;
  }

  boolean contains(long offset) {
    return start <= offset && offset < end;
  }

  /** Returns the part from {@code from} to {@code to}, both relative to the start of this range. */
  ByteRange slice(long from, long to) {
    return new ByteRange(start + from, start + to, from == 0 ? textOffset : 0);
  }
}
