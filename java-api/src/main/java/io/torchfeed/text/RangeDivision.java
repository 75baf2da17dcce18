// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import java.util.ArrayList;
import java.util.List;

/** The division of ranges into parts of equal size. */
final class RangeDivision {
  private RangeDivision() {}

  /**
   * Divides ranges, laid end to end, into parts of floor(sum / parts) bytes; the last part also has
   * the remainder. Given a single range, each part is one range, which may be empty; given several,
   * empty ranges are omitted.
   */
  static List<List<ByteRange>> divide(List<ByteRange> ranges, long parts) {
    long total = ranges.stream().mapToLong(ByteRange::length).sum();
    long size = total / parts;
    List<List<ByteRange>> divided = new ArrayList<>();
    for (long part = 0; part < parts; part++) {
      long from = part * size;
      long to = part == parts - 1 ? total : from + size;
      divided.add(
          ranges.size() == 1 ? List.of(ranges.get(0).slice(from, to)) : slice(ranges, from, to));
    }
    return divided;
  }

  private static List<ByteRange> slice(List<ByteRange> ranges, long from, long to) {
    List<ByteRange> part = new ArrayList<>();
    long before = 0;
    for (ByteRange range : ranges) {
      long start = Math.max(0, from - before);
      long end = Math.min(range.length(), to - before);
      if (start < end) {
        part.add(range.slice(start, end));
      }
      before += range.length();
    }
    return List.copyOf(part);
  }

  /** Returns the same bytes in as few ranges as possible, omitting empty ranges. */
  static List<ByteRange> joined(List<ByteRange> ranges) {
    List<ByteRange> joined = new ArrayList<>();
    for (ByteRange range : ranges) {
      int last = joined.size() - 1;
      if (last >= 0 && joined.get(last).end() == range.start() && range.textOffset() == 0) {
        ByteRange before = joined.get(last);
        joined.set(last, new ByteRange(before.start(), range.end(), before.textOffset()));
      } else if (range.length() > 0) {
        joined.add(range);
      }
    }
    return List.copyOf(joined);
  }
}
