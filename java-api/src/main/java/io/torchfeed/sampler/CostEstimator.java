// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.util.Arrays;
import java.util.Objects;

/**
 * Learns from measured batches what samples really cost, and gives new {@link Costs} between
 * epochs. Not thread-safe.
 *
 * <p>A length says little about time where the work grows faster than the length. So samples are
 * put into buckets of like prior cost, and the time of a batch is taken as a constant plus, for
 * each bucket, a rate times the prior costs of its samples in the batch. Constant and rates are
 * found by least squares, with a weak pull to one rate for all, so that a bucket of which little
 * was seen is like the average. What came earlier may count less ({@link #forget}).
 *
 * <pre>{@code
 * CostEstimator estimator = new CostEstimator(lengths, 16);
 * estimator.add(indices, batchSize, seconds); // after each batch
 * Costs costs = estimator.estimate(); // after the epoch
 * }</pre>
 *
 * <p>All ranks must plan with the same costs: each adds up {@link #sums} of all ranks, in the order
 * of the ranks, before it estimates. An estimator takes 8 bytes for each pair of buckets, whatever
 * the number of samples, beside the prior costs; adding a batch takes time in proportion to its
 * size and to the square of the number of buckets.
 *
 * <p>Source: linear least squares by normal equations with ridge regularisation (Hoerl and Kennard,
 * 1970), solved by Cholesky's method.
 */
public final class CostEstimator {
  private static final int MOST_BUCKETS = 256;
  private static final double PULL = 1e-9;
  private static final double LEAST_RATE = 1e-3;
  private static final double LARGEST_COST = 1 << 30; // fits the four-byte form of Costs

  private final Costs prior;
  private final long[] limits; // the largest prior cost of each bucket
  private final int unknowns; // the constant, then the rates
  private final double[] sums; // the matrix row by row, the right side, the number of batches
  private final double[] ofBatch;

  /**
   * An estimator that knows nothing yet.
   *
   * @param prior what samples are thought to cost, such as their length; 0 counts as 1
   * @param buckets number of buckets at most, in [1, 256]; they hold about the same number of
   *     samples, and those of equal prior cost share one
   * @throws IllegalArgumentException if there are no samples, or {@code buckets} is outside of its
   *     range
   */
  public CostEstimator(Costs prior, int buckets) {
    this.prior = requireNonNull(prior, "prior");
    if (prior.size() == 0) {
      throw new IllegalArgumentException("prior must have at least 1 cost, got none");
    }
    if (buckets < 1 || buckets > MOST_BUCKETS) {
      throw new IllegalArgumentException(
          "buckets must be in [1, %d], got %d".formatted(MOST_BUCKETS, buckets));
    }
    limits = limits(prior, buckets);
    unknowns = limits.length + 1;
    sums = new double[unknowns * unknowns + unknowns + 1];
    ofBatch = new double[unknowns];
  }

  /**
   * Adds a batch that was measured.
   *
   * @param indices the dataset indices of the batch, from element 0 on
   * @param count number of samples in the batch, at least 1
   * @param time what the batch took, in any unit, positive and finite
   * @throws IllegalArgumentException if {@code count} is less than 1, or {@code time} is outside of
   *     its range
   * @throws IndexOutOfBoundsException if {@code count} exceeds {@code indices}, or an index has no
   *     prior cost; nothing is added then
   */
  public void add(long[] indices, int count, double time) {
    Objects.checkFromIndexSize(0, count, indices.length);
    if (count < 1) {
      throw new IllegalArgumentException("count must be at least 1, got " + count);
    }
    if (!(time > 0 && time <= Double.MAX_VALUE)) {
      throw new IllegalArgumentException("time must be positive and finite, got " + time);
    }
    Arrays.fill(ofBatch, 0);
    ofBatch[0] = 1;
    for (int i = 0; i < count; i++) {
      long cost = priorOf(indices[i]);
      ofBatch[1 + bucketOf(cost)] += cost;
    }
    for (int row = 0; row < unknowns; row++) {
      for (int column = 0; column < unknowns; column++) {
        sums[row * unknowns + column] += ofBatch[row] * ofBatch[column];
      }
      sums[unknowns * unknowns + row] += ofBatch[row] * time;
    }
    sums[sums.length - 1]++;
  }

  /**
   * Lets all that was added so far count less than what comes from now on; called once an epoch,
   * this is an exponential average over the epochs.
   *
   * @param share how much less, in [0, 1]: 0 changes nothing, 1 forgets all
   * @throws IllegalArgumentException if {@code share} is outside of its range
   */
  public void forget(double share) {
    if (!(share >= 0 && share <= 1)) {
      throw new IllegalArgumentException("share must be in [0, 1], got " + share);
    }
    for (int i = 0; i < sums.length; i++) {
      sums[i] *= 1 - share;
    }
  }

  /**
   * What was added so far, in a form that may be summed over ranks and stored.
   *
   * @return a copy of the sums; of equal length for equal prior costs and buckets
   */
  public double[] sums() {
    return sums.clone();
  }

  /**
   * Adds what another rank's estimator has seen.
   *
   * @param others that estimator's {@link #sums}
   * @throws IllegalArgumentException if they are of another length, or not finite
   */
  public void addSums(double[] others) {
    if (others.length != sums.length) {
      throw new IllegalArgumentException(
          "others must have %d sums, those of an estimator with the same prior and buckets, got %d"
              .formatted(sums.length, others.length));
    }
    for (double sum : others) {
      if (!(Math.abs(sum) <= Double.MAX_VALUE)) {
        throw new IllegalArgumentException("others must be finite, got " + sum);
      }
    }
    for (int i = 0; i < sums.length; i++) {
      sums[i] += others[i];
    }
  }

  /**
   * The costs as they are known now. Their unit is none: the largest is 2^30, since balance depends
   * on ratios only. They are the same for the same sums, on every machine.
   *
   * @return the cost of each sample: its prior cost times the rate of its bucket
   * @throws IllegalStateException if no batch was added yet, or the sums overflowed
   */
  public Costs estimate() {
    if (sums[sums.length - 1] == 0) {
      throw new IllegalStateException("an estimate needs at least 1 batch; add measured ones");
    }
    double[] rates = rates();
    double largest = 0;
    for (int bucket = 0; bucket < limits.length; bucket++) {
      largest = Math.max(largest, rates[bucket] * limits[bucket]);
    }
    double scale = LARGEST_COST / largest;
    return Costs.computed(
        prior.size(),
        index -> {
          long cost = priorOf(index);
          return Math.round(cost * rates[bucketOf(cost)] * scale);
        });
  }

  /** The rate of each bucket, none below a thousandth of the average one. */
  private double[] rates() {
    double time = sums[unknowns * unknowns];
    double cost = 0;
    for (int bucket = 1; bucket < unknowns; bucket++) {
      cost += sums[bucket];
    }
    double average = time / cost;
    if (!(average > 0 && average <= Double.MAX_VALUE)) {
      throw new IllegalStateException(
          "an estimate needs measured costs of which the sum is positive and finite, got "
              + time
              + " for prior costs of "
              + cost);
    }
    double[] matrix = Arrays.copyOf(sums, unknowns * unknowns);
    double[] right = Arrays.copyOfRange(sums, matrix.length, matrix.length + unknowns);
    double mean = 0;
    for (int i = 1; i < unknowns; i++) {
      mean += matrix[i * unknowns + i] / limits.length;
    }
    for (int row = 0; row < unknowns; row++) {
      for (int column = 1; column < unknowns; column++) {
        right[row] -= sums[row * unknowns + column] * average;
      }
    }
    for (int i = 0; i < unknowns; i++) {
      matrix[i * unknowns + i] += PULL * (i == 0 ? matrix[0] : mean);
    }
    solve(matrix, right);
    double[] rates = new double[limits.length];
    for (int bucket = 0; bucket < rates.length; bucket++) {
      rates[bucket] = Math.max(LEAST_RATE * average, average + right[1 + bucket]);
    }
    return rates;
  }

  /** Replaces the right side by the solution; the matrix is symmetric and positive definite. */
  private static void solve(double[] matrix, double[] right) {
    int size = right.length;
    for (int row = 0; row < size; row++) {
      for (int column = 0; column <= row; column++) {
        double sum = matrix[row * size + column];
        for (int k = 0; k < column; k++) {
          sum -= matrix[row * size + k] * matrix[column * size + k];
        }
        matrix[row * size + column] =
            row == column
                ? Math.sqrt(Math.max(sum, Double.MIN_NORMAL))
                : sum / matrix[column * size + column];
      }
    }
    for (int row = 0; row < size; row++) {
      for (int k = 0; k < row; k++) {
        right[row] -= matrix[row * size + k] * right[k];
      }
      right[row] /= matrix[row * size + row];
    }
    for (int row = size - 1; row >= 0; row--) {
      for (int k = row + 1; k < size; k++) {
        right[row] -= matrix[k * size + row] * right[k];
      }
      right[row] /= matrix[row * size + row];
    }
  }

  private long priorOf(long index) {
    return Math.max(1, prior.at(index));
  }

  private int bucketOf(long cost) {
    int found = Arrays.binarySearch(limits, cost);
    return found < 0 ? -found - 1 : found;
  }

  private static long[] limits(Costs prior, int buckets) {
    long[] sorted = new long[prior.size()];
    for (int i = 0; i < sorted.length; i++) {
      sorted[i] = Math.max(1, prior.at(i));
    }
    Arrays.sort(sorted);
    long[] limits = new long[buckets];
    for (int bucket = 0; bucket < buckets; bucket++) {
      int last = (int) (((long) sorted.length * (bucket + 1) + buckets - 1) / buckets) - 1;
      limits[bucket] = sorted[last];
    }
    return Arrays.stream(limits).distinct().toArray();
  }
}
