// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A place between two rows of a shard.
 *
 * @param group the number of the row group among all; their number at the end of the shard
 * @param row the number of the first row of the window, among those that a filter lets through
 * @param delivered how many rows of the window were delivered
 * @param rows of the window; 0 if none was delivered
 */
record GroupPosition(int group, long row, int delivered, int rows) {
  private static final Pattern TEXT =
      Pattern.compile("(\\d{1,9}):(\\d{1,18})(?::(\\d{1,9}):(\\d{1,9}))?");

  /** Returns a place before a window. */
  static GroupPosition before(int group, long row) {
    return new GroupPosition(group, row, 0, 0);
  }

  /**
   * Reads a place.
   *
   * @throws IllegalArgumentException if it is none
   */
  static GroupPosition of(String text) {
    Matcher matcher = TEXT.matcher(text);
    if (!matcher.matches()) {
      throw new IllegalArgumentException(
          "a position in Parquet files must be group:row or group:row:delivered:rows, got " + text);
    }
    return new GroupPosition(
        Integer.parseInt(matcher.group(1)),
        Long.parseLong(matcher.group(2)),
        number(matcher.group(3)),
        number(matcher.group(4)));
  }

  private static int number(@Nullable String digits) {
    return digits == null ? 0 : Integer.parseInt(digits);
  }

  @Override
  public String toString() {
    String window = group + ":" + row; // once for each batch
    return delivered == 0 ? window : window + ":" + delivered + ":" + rows;
  }
}
