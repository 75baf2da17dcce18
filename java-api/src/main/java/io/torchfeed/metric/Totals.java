// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import java.util.Arrays;
import java.util.stream.Stream;

/** All that a metric has counted: whole numbers and exact sums, whose order does not matter. */
final class Totals {
  final long[] counts;
  final ExactSum[] sums;

  Totals(int counts, int sums) {
    this.counts = new long[counts];
    this.sums = Stream.generate(ExactSum::new).limit(sums).toArray(ExactSum[]::new);
  }

  /** Adds the totals of other samples. */
  void add(Totals other) {
    for (int i = 0; i < counts.length; i++) {
      counts[i] = Math.addExact(counts[i], other.counts[i]);
    }
    for (int i = 0; i < sums.length; i++) {
      sums[i].add(other.sums[i]);
    }
  }

  void clear() {
    Arrays.fill(counts, 0);
    for (ExactSum sum : sums) {
      sum.clear();
    }
  }

  byte[] toBytes() {
    CountBytes.Writer out = new CountBytes.Writer();
    for (long count : counts) {
      out.put(count);
    }
    for (ExactSum sum : sums) {
      sum.write(out);
    }
    return out.bytes();
  }

  /**
   * Takes the totals that others have written, in place of its own.
   *
   * @throws IllegalArgumentException if the bytes are malformed
   */
  Totals read(byte[] bytes) {
    CountBytes.Reader in = new CountBytes.Reader(bytes);
    for (int i = 0; i < counts.length; i++) {
      counts[i] = in.count();
    }
    for (ExactSum sum : sums) {
      sum.read(in);
    }
    in.end();
    return this;
  }
}
