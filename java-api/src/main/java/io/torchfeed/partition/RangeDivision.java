// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.util.ArrayList;
import java.util.List;

/** Ranges cut into parts of equal size. */
final class RangeDivision {
  private RangeDivision() {}

  /**
   * Cuts ranges, laid end to end, into parts of floor(sum / parts) bytes; the last has what
   * remains. Of one range each part is one range, which may be empty; of several, empty ones are
   * left out.
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

  /** The same bytes in as few ranges as possible, without empty ones. */
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
