// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.sums.ExactSum;
import java.util.Arrays;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The counts of a metric, the same for any order of the samples. */
final class Totals {
  final long[] counts;
  final ExactSum[] sums;
  private final @Nullable ScoreTable scores;

  Totals(int counts, int sums) {
    this(counts, sums, null);
  }

  Totals(int counts, int sums, @Nullable ScoreTable scores) {
    this.scores = scores;
    this.counts = new long[counts];
    this.sums = Stream.generate(ExactSum::new).limit(sums).toArray(ExactSum[]::new);
  }

  ScoreTable scores() {
    return requireNonNull(scores, "scores");
  }

  /** Adds the totals of other samples. */
  void add(Totals other) {
    for (int i = 0; i < counts.length; i++) {
      counts[i] = Math.addExact(counts[i], other.counts[i]);
    }
    for (int i = 0; i < sums.length; i++) {
      sums[i].add(other.sums[i]);
    }
    if (scores != null) {
      scores.add(other.scores());
    }
  }

  void clear() {
    Arrays.fill(counts, 0);
    for (ExactSum sum : sums) {
      sum.clear();
    }
    if (scores != null) {
      scores.clear();
    }
  }

  byte[] toBytes() {
    CountBytes.Writer out = new CountBytes.Writer();
    for (long count : counts) {
      out.put(count);
    }
    for (ExactSum sum : sums) {
      sum.write(out::put);
    }
    if (scores != null) {
      scores.write(out);
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
      sum.read(in::count, in::next, in::malformed);
    }
    if (scores != null) {
      scores.read(in);
    }
    in.end();
    return this;
  }
}
