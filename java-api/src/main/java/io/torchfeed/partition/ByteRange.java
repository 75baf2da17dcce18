// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

/**
 * A part of all files' bytes, laid end to end in the order of the plan: the lines whose first byte
 * lies in it, and the compressed files whose first byte lies in it.
 *
 * @param start its first byte, at least 0
 * @param end the byte behind its last, at least {@code start}
 * @param textOffset how many bytes of text are already read of the compressed file that begins at
 *     {@code start}, at least 0; 0 everywhere else
 */
public record ByteRange(long start, long end, long textOffset) {
  /**
   * A range.
   *
   * @param start its first byte, at least 0
   * @param end the byte behind its last, at least {@code start}
   * @param textOffset how much is already read of the compressed file at {@code start}
   * @throws IllegalArgumentException if an argument is outside of its range
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
   * A range that begins at the start of what lies there.
   *
   * @param start its first byte, at least 0
   * @param end the byte behind its last, at least {@code start}
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public ByteRange(long start, long end) {
    this(start, end, 0);
  }

  /**
   * How many bytes it has.
   *
   * @return the number of bytes, at least 0
   */
  public long length() {
    return end - start;
  }

  boolean contains(long offset) {
    return start <= offset && offset < end;
  }

  /** The part from {@code from} to {@code to}, both counted from this range's start. */
  ByteRange slice(long from, long to) {
    return new ByteRange(start + from, start + to, from == 0 ? textOffset : 0);
  }
}
