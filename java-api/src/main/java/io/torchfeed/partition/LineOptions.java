// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static java.util.Objects.requireNonNull;

/**
 * How lines are read.
 *
 * @param carriageReturn what happens to a carriage return at the end of a line
 * @param bufferBytes how much is read at once, at least 64; a longer line makes the buffer grow
 * @param longestLineBytes the longest line that is accepted, without its newline, in [1, {@value
 *     #MOST_LINE_BYTES}]
 */
public record LineOptions(CarriageReturn carriageReturn, int bufferBytes, int longestLineBytes) {
  /** The longest line that a Java array can hold, with room for the next read. */
  public static final int MOST_LINE_BYTES = 0x7fff_0000;

  /** One carriage return removed, 256 KB at once, lines of up to 1 GB. */
  public static final LineOptions DEFAULT =
      new LineOptions(CarriageReturn.REMOVE, 1 << 18, 1 << 30);

  /**
   * Options.
   *
   * @param carriageReturn what happens to a carriage return at the end of a line
   * @param bufferBytes how much is read at once, at least 64
   * @param longestLineBytes the longest line that is accepted, at least 1
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public LineOptions {
    requireNonNull(carriageReturn, "carriageReturn");
    if (bufferBytes < 64 || bufferBytes > MOST_LINE_BYTES) {
      throw new IllegalArgumentException(
          "bufferBytes must be in [64, %d], got %d".formatted(MOST_LINE_BYTES, bufferBytes));
    }
    if (longestLineBytes < 1 || longestLineBytes > MOST_LINE_BYTES) {
      throw new IllegalArgumentException(
          "longestLineBytes must be in [1, %d], got %d"
              .formatted(MOST_LINE_BYTES, longestLineBytes));
    }
  }

  /**
   * These options with another rule for carriage returns.
   *
   * @param rule what happens to a carriage return at the end of a line
   * @return the options
   */
  public LineOptions with(CarriageReturn rule) {
    return new LineOptions(rule, bufferBytes, longestLineBytes);
  }
}
