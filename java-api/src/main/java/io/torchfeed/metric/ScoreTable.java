// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import java.util.Arrays;

/**
 * How many negative and positive samples have each score: a hash table of at most half its size,
 * with 24 bytes a place.
 */
final class ScoreTable {
  /** Receives the counts of a score. */
  @FunctionalInterface
  interface Visitor {
    void accept(long negative, long positive);
  }

  private static final int FIRST_PLACES = 64;
  private static final long SPREAD = 0x9E3779B97F4A7C15L;

  private final int limit;
  private double[] scores = new double[FIRST_PLACES];
  private long[] negative = new long[FIRST_PLACES];
  private long[] positive = new long[FIRST_PLACES];
  private int size;

  ScoreTable(int limit) {
    this.limit = limit;
  }

  /**
   * Adds samples.
   *
   * @param added no NaN
   * @param classes 0 or 1 for each
   * @throws IllegalStateException if there would be too many scores; then nothing is added
   */
  void add(double[] added, long[] classes) {
    double[] sorted = new double[added.length];
    Arrays.setAll(sorted, i -> added[i] + 0.0); // no -0.0
    requireRoom(sorted.clone());
    for (int i = 0; i < sorted.length; i++) {
      add(sorted[i], 1 - classes[i], classes[i]);
    }
  }

  /** Adds the samples of another table, or none of them. */
  void add(ScoreTable other) {
    double[] sorted = other.sorted();
    requireRoom(sorted);
    for (double score : sorted) {
      int place = other.place(score);
      add(score, other.negative[place], other.positive[place]);
    }
  }

  private void requireRoom(double[] added) {
    Arrays.sort(added);
    long all = size;
    for (int i = 0; i < added.length; i++) {
      if ((i == 0 || added[i] != added[i - 1]) && isFree(place(added[i]))) {
        all++;
      }
    }
    if (all > limit) {
      throw new IllegalStateException(
          ("the metric keeps at most %d different scores, got %d; raise its limit, or round the"
                  + " scores, for example to multiples of 2^-16")
              .formatted(limit, all));
    }
  }

  private void add(double score, long negatives, long positives) {
    int place = place(score);
    if (isFree(place)) {
      if (2 * (size + 1) > scores.length) {
        grow();
        place = place(score);
      }
      scores[place] = score;
      size++;
    }
    negative[place] = Math.addExact(negative[place], negatives);
    positive[place] = Math.addExact(positive[place], positives);
  }

  private boolean isFree(int place) {
    return negative[place] + positive[place] == 0;
  }

  /** Returns the place of a score, or the free one for it. */
  private int place(double score) {
    int mask = scores.length - 1;
    int place = (int) ((Double.doubleToRawLongBits(score) * SPREAD) >>> Integer.SIZE) & mask;
    while (!isFree(place) && scores[place] != score) {
      place = (place + 1) & mask;
    }
    return place;
  }

  private void grow() {
    double[] oldScores = scores;
    long[] oldNegative = negative;
    long[] oldPositive = positive;
    int places = 2 * oldScores.length;
    scores = new double[places];
    negative = new long[places];
    positive = new long[places];
    size = 0;
    for (int i = 0; i < oldScores.length; i++) {
      if (oldNegative[i] + oldPositive[i] > 0) {
        add(oldScores[i], oldNegative[i], oldPositive[i]);
      }
    }
  }

  /** Returns the scores in ascending order. */
  private double[] sorted() {
    double[] all = new double[size];
    int count = 0;
    for (int i = 0; i < scores.length; i++) {
      if (!isFree(i)) {
        all[count++] = scores[i];
      }
    }
    Arrays.sort(all);
    return all;
  }

  /** Visits the scores, the highest first. */
  void descending(Visitor visitor) {
    double[] all = sorted();
    for (int i = all.length - 1; i >= 0; i--) {
      int place = place(all[i]);
      visitor.accept(negative[place], positive[place]);
    }
  }

  void write(CountBytes.Writer out) {
    out.put(size);
    long before = Long.MIN_VALUE;
    for (double score : sorted()) {
      long number = ordered(Double.doubleToRawLongBits(score));
      int place = place(score);
      out.put(number - before);
      out.put(negative[place]);
      out.put(positive[place]);
      before = number;
    }
  }

  void read(CountBytes.Reader in) {
    clear();
    long count = in.count();
    if (count > limit) {
      throw in.malformed();
    }
    long number = Long.MIN_VALUE;
    for (long i = 0; i < count; i++) {
      long distance = in.next();
      number += distance;
      double score = Double.longBitsToDouble(ordered(number));
      long negatives = in.count();
      long positives = in.count();
      if (distance == 0 || Double.isNaN(score) || negatives + positives <= 0) {
        throw in.malformed();
      }
      add(score, negatives, positives);
    }
  }

  /** Returns numbers in the order of the doubles with these bits; and the bits of such a number. */
  private static long ordered(long bits) {
    return bits ^ ((bits >> 63) & Long.MAX_VALUE);
  }

  void clear() {
    scores = new double[FIRST_PLACES];
    negative = new long[FIRST_PLACES];
    positive = new long[FIRST_PLACES];
    size = 0;
  }
}
