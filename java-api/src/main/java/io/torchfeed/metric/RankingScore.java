// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import io.torchfeed.internal.sums.ExactSum;
import java.math.BigInteger;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/**
 * The area under the ROC curve, or the average precision, of one score for each sample of two
 * classes.
 *
 * <p>Exact: it keeps how many samples of either class have each score, so its memory grows with the
 * number of different scores: 48 to 96 bytes each, up to a limit. With one class only, the area is
 * NaN; without positive samples, the average precision is 0. Samples of equal scores count
 * together. Source: scikit-learn 1.9.1, {@code roc_auc_score} and {@code average_precision_score}.
 */
public final class RankingScore extends Metric {
  /** The limit of different scores by default: 2<sup>20</sup>, of up to 100 MB. */
  public static final int DEFAULT_MAX_SCORES = 1 << 20;

  private static final int MOST = 1 << 28;
  private static final long MAX_PRODUCT = 1L << 60;

  private final boolean isArea;

  private RankingScore(boolean isArea, int maxScores) {
    super(
        "%s of %s scores".formatted(isArea ? "AUC" : "average precision", maxScores),
        () -> new Totals(0, 0, new ScoreTable(maxScores)));
    this.isArea = isArea;
  }

  /**
   * Returns an area under the ROC curve.
   *
   * @return the metric, with the default limit
   */
  public static RankingScore auc() {
    return auc(DEFAULT_MAX_SCORES);
  }

  /**
   * Returns an area under the ROC curve.
   *
   * @param maxScores how many different scores the samples of all ranks may have, in [1,
   *     2<sup>28</sup>]
   * @return the metric
   * @throws IllegalArgumentException if the limit is out of range
   */
  public static RankingScore auc(int maxScores) {
    return new RankingScore(true, Values.requireRange("maxScores", maxScores, 1, MOST));
  }

  /**
   * Returns an average precision.
   *
   * @return the metric, with the default limit
   */
  public static RankingScore averagePrecision() {
    return averagePrecision(DEFAULT_MAX_SCORES);
  }

  /**
   * Returns an average precision.
   *
   * @param maxScores as in {@link #auc(int)}
   * @return the metric
   * @throws IllegalArgumentException if the limit is out of range
   */
  public static RankingScore averagePrecision(int maxScores) {
    return new RankingScore(false, Values.requireRange("maxScores", maxScores, 1, MOST));
  }

  /**
   * Counts samples.
   *
   * @param output a score for each sample, of a real dtype and any shape: a logit or a probability.
   *     Of whole numbers, the magnitude is at most 2<sup>53</sup>
   * @param target 0 or 1 for each sample, in the same shape; a sample of the class -100 does not
   *     count
   * @throws IllegalArgumentException if shapes or dtypes do not fit, a target is out of range, or a
   *     score is NaN or a whole number that a float64 may not have
   * @throws IllegalStateException if there are more different scores than the limit
   */
  public void update(Tensor output, Tensor target) {
    Values.requireReal("output", output);
    Values.requireWhole("target", target);
    Values.requireSameShape("output", output, "target", target);
    try (PointerScope scope = new PointerScope()) {
      ClassScores.requireNoNan("output", output);
      Values.requireExact("output", output);
    }
    double[] scores = Values.reals(output);
    long[] classes = Values.wholes(target);
    long[] rows = ClassScores.counted(classes, 2);
    double[] countedScores = new double[rows.length];
    long[] countedClasses = new long[rows.length];
    for (int i = 0; i < rows.length; i++) {
      countedScores[i] = scores[(int) rows[i]];
      countedClasses[i] = classes[(int) rows[i]];
    }
    own.scores().add(countedScores, countedClasses);
  }

  @Override
  double of(Totals all) {
    long[] samples = new long[2];
    all.scores()
        .descending(
            (negative, positive) -> {
              samples[0] = Math.addExact(samples[0], negative);
              samples[1] = Math.addExact(samples[1], positive);
            });
    if (samples[0] + samples[1] == 0 || (isArea && (samples[0] == 0 || samples[1] == 0))) {
      return Double.NaN;
    }
    return isArea
        ? area(all.scores(), samples[0], samples[1])
        : averagePrecision(all.scores(), samples[1]);
  }

  /**
   * Returns the share of pairs in which the positive sample has the higher score; equal is half.
   */
  private static double area(ScoreTable scores, long negatives, long positives) {
    boolean isSmall =
        Math.multiplyHigh(negatives, positives) == 0
            && Long.compareUnsigned(negatives * positives, MAX_PRODUCT) < 0;
    long[] above = new long[1];
    long[] small = new long[1];
    BigInteger[] large = {BigInteger.ZERO};
    scores.descending(
        (negative, positive) -> {
          long halves = 2 * above[0] + positive;
          if (isSmall) {
            small[0] += negative * halves;
          } else {
            large[0] =
                large[0].add(BigInteger.valueOf(negative).multiply(BigInteger.valueOf(halves)));
          }
          above[0] += positive;
        });
    BigInteger halves = isSmall ? BigInteger.valueOf(small[0]) : large[0];
    BigInteger pairs = BigInteger.valueOf(negatives).multiply(BigInteger.valueOf(positives));
    return ExactSum.quotient(halves, pairs.shiftLeft(1));
  }

  private static double averagePrecision(ScoreTable scores, long positives) {
    if (positives == 0) {
      return 0;
    }
    long[] seen = new long[2];
    ExactSum sum = new ExactSum();
    scores.descending(
        (negative, positive) -> {
          seen[0] += positive;
          seen[1] += negative + positive;
          sum.addProduct((double) positive, seen[0] / (double) seen[1]);
        });
    return sum.value() / positives;
  }
}
