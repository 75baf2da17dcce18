// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * The mean over samples, or tokens, of the negative logarithm of the probability of the target; or
 * the exponential of that mean, the perplexity.
 *
 * <p>It takes logits or logarithms of probabilities, and computes in float64. A probability of 0
 * gives infinity, NaN gives NaN. Source: scikit-learn 1.9.1, {@code log_loss}, which takes
 * probabilities, and torchmetrics 1.9.0, {@code Perplexity}.
 */
public final class LogLoss extends Metric {
  private static final long MAX_ELEMENTS = 1 << 24; // of a part that is copied to float64

  private final boolean isPerplexity;

  private LogLoss(boolean isPerplexity) {
    super(isPerplexity ? "perplexity" : "log loss", () -> new Totals(1, 1));
    this.isPerplexity = isPerplexity;
  }

  /**
   * Returns a log loss of no samples.
   *
   * @return the metric
   */
  public static LogLoss create() {
    return new LogLoss(false);
  }

  /**
   * Returns a perplexity of no tokens.
   *
   * @return the metric
   */
  public static LogLoss perplexity() {
    return new LogLoss(true);
  }

  /**
   * Counts samples.
   *
   * @param output logits {@code [..., classes]} of a real dtype, or the logit {@code [...]} of
   *     class 1 of two, a floating dtype
   * @param target classes {@code [...]}, whole numbers; a sample of the class -100, as padding of
   *     texts, does not count
   * @throws IllegalArgumentException if shapes or dtypes do not fit, or a target is out of range
   */
  public void update(Tensor output, Tensor target) {
    try (PointerScope scope = new PointerScope()) {
      if (ClassScores.hasClasses(output, target)) {
        updateClasses(ClassScores.of(output, target));
      } else {
        updateBinary(output, target);
      }
    }
  }

  private void updateClasses(ClassScores all) {
    int rows = all.target.length;
    int step = (int) Math.max(1, MAX_ELEMENTS / Math.max(1, all.classes));
    for (int from = 0; from < rows; from += step) {
      try (PointerScope scope = new PointerScope()) {
        int count = Math.min(step, rows - from);
        Tensor part = all.scores.detach().narrow(0, from, count);
        Tensor of = Tensor.create(all.target).narrow(0, from, count).unsqueeze(1);
        Tensor logs = part.log_softmax(1, new ScalarTypeOptional(torch.ScalarType.Double));
        add(Values.reals(logs.gather(1, of.to(logs.device(), torch.ScalarType.Long))));
      }
    }
  }

  private void updateBinary(Tensor output, Tensor target) {
    Values.requireReal("output", output);
    Values.requireWhole("target", target);
    Values.requireSameShape("output", output, "target", target);
    long[] classes = Values.wholes(target);
    long[] rows = ClassScores.counted(classes, 2);
    double[] logits = Values.reals(output);
    double[] logs = new double[rows.length];
    for (int i = 0; i < rows.length; i++) {
      int row = (int) rows[i];
      double logit = classes[row] == 1 ? logits[row] : -logits[row];
      logs[i] = Math.min(logit, 0) - StrictMath.log1p(StrictMath.exp(-Math.abs(logit)));
    }
    add(logs);
  }

  private void add(double[] logs) {
    for (double log : logs) {
      own.sums[0].add(-log);
    }
    own.counts[0] += logs.length;
  }

  @Override
  double of(Totals all) {
    double mean = all.sums[0].value() / all.counts[0];
    return isPerplexity ? StrictMath.exp(mean) : mean;
  }
}
