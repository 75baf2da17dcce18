// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import java.util.Arrays;
import java.util.Comparator;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/**
 * The mean over queries of the recall or the normalized discounted cumulative gain (NDCG) of the k
 * candidates with the highest scores.
 *
 * <p>Candidates of equal scores share their places: the result is the mean over their orders. A
 * query without a relevant candidate has a score of 0, and one without candidates does not count.
 * Source: scikit-learn 1.9.1, {@code ndcg_score}; of positive and different scores, torchmetrics
 * 1.9.0, {@code RetrievalRecall}.
 */
public final class RetrievalScore extends Metric {
  private final boolean isRecall;
  private final int k;

  private RetrievalScore(boolean isRecall, int k) {
    super(
        "%s at %s".formatted(isRecall ? "recall" : "NDCG", Values.requireAtLeastOne("k", k)),
        () -> new Totals(1, 1));
    this.isRecall = isRecall;
    this.k = k;
  }

  /**
   * Returns a recall: the share of the relevant candidates that are among the first k.
   *
   * @param k at least 1
   * @return the metric
   * @throws IllegalArgumentException if k is less than 1
   */
  public static RetrievalScore recall(int k) {
    return new RetrievalScore(true, k);
  }

  /**
   * Returns an NDCG: the sum of the relevances of the first k candidates, each divided by the
   * binary logarithm of its place plus 1, as a share of the sum in the best order.
   *
   * @param k at least 1
   * @return the metric
   * @throws IllegalArgumentException if k is less than 1
   */
  public static RetrievalScore ndcg(int k) {
    return new RetrievalScore(false, k);
  }

  /**
   * Counts queries.
   *
   * @param output the scores of each query's candidates {@code [queries, candidates]}, of a real
   *     dtype
   * @param target the relevance of each candidate, in the same shape: 0 if it is not relevant, and
   *     below 0 for padding, which is no candidate
   * @throws IllegalArgumentException if shapes or dtypes do not fit, or a value is NaN
   */
  public void update(Tensor output, Tensor target) {
    Values.requireReal("output", output);
    Values.requireReal("target", target);
    Values.requireSameShape("output", output, "target", target);
    if (output.dim() != 2) {
      throw new IllegalArgumentException(
          "output must be [queries, candidates], got " + Values.describe(output));
    }
    try (PointerScope scope = new PointerScope()) {
      ClassScores.requireNoNan("output", output);
      ClassScores.requireNoNan("target", target);
    }
    int candidates = Math.toIntExact(output.shape()[1]);
    double[] scores = Values.reals(output);
    double[] relevances = Values.reals(target);
    for (int from = 0; candidates > 0 && from < scores.length; from += candidates) {
      Candidate[] query = new Candidate[candidates];
      int count = 0;
      for (int i = from; i < from + candidates; i++) {
        if (relevances[i] >= 0) {
          double gain = isRecall ? Math.signum(relevances[i]) : relevances[i];
          query[count++] = new Candidate(scores[i] + 0.0, gain); // no -0.0
        }
      }
      if (count > 0) {
        own.sums[0].add(score(Arrays.copyOf(query, count)));
        own.counts[0]++;
      }
    }
  }

  private record Candidate(double score, double gain) {}

  private double score(Candidate[] query) {
    Arrays.sort(query, Comparator.comparingDouble(Candidate::gain).reversed());
    double best = 0;
    for (int i = 0; i < query.length; i++) {
      best += query[i].gain * (isRecall ? 1 : weight(i));
    }
    if (best == 0) {
      return 0;
    }
    Arrays.sort(query, Comparator.comparingDouble(Candidate::score).reversed()); // stable
    double sum = 0;
    int from = 0;
    while (from < query.length) {
      int to = from;
      double gains = 0;
      double weights = 0;
      while (to < query.length && query[to].score == query[from].score) {
        gains += query[to].gain;
        weights += weight(to);
        to++;
      }
      sum += gains / (to - from) * weights;
      from = to;
    }
    return sum / best;
  }

  /** Returns the weight of a place, which starts at 0. */
  private double weight(int place) {
    if (place >= k) {
      return 0;
    }
    return isRecall ? 1 : StrictMath.log(2) / StrictMath.log(place + 2.0);
  }

  @Override
  double of(Totals all) {
    return all.sums[0].value() / all.counts[0];
  }
}
