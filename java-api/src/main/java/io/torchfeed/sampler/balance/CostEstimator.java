// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import java.util.Arrays;

/**
 * An estimator that learns the real costs of samples from measured batches and provides new {@link
 * Costs} between epochs. Not thread-safe.
 *
 * <p>A length says little about time if work grows faster than length. Samples are therefore put
 * into buckets of similar prior cost, and the time of a batch is modelled as a constant plus, for
 * each bucket, a rate times the prior costs of its samples in the batch. The constant and the rates
 * are fitted by least squares, with a weak pull towards a common rate, so that a bucket with few
 * observations stays close to the average. Earlier batches may count less ({@link #forget}).
 *
 * <pre>{@code
 * CostEstimator estimator = CostEstimator.of(lengths, 16);
 * estimator.add(indices, batchSize, seconds); // after each batch
 * Costs costs = estimator.estimate(); // after the epoch
 * }</pre>
 *
 * <p>All ranks must plan with the same costs: before it estimates, each rank adds up the {@link
 * #sums} of all ranks, in the order of the ranks. An estimator takes 8 bytes for each pair of
 * buckets, regardless of the number of samples, in addition to the prior costs; adding a batch
 * takes time proportional to its size and to the square of the number of buckets.
 *
 * <p>Source: linear least squares by normal equations with ridge regularisation (Hoerl and Kennard,
 * 1970), solved by Cholesky's method.
 */
public final class CostEstimator {
  private static final int MAX_BUCKETS = 256;
  private static final double PULL = 1e-9;
  private static final double MIN_RATE = 1e-3;
  private static final double MAX_COST = 1 << 30; // fits the four-byte form of Costs

  private final Costs prior;
  private final long[] limits; // the largest prior cost of each bucket
  private final int unknowns; // the constant, then the rates
  private final double[] sums; // the matrix row by row, the right side, the number of batches
  private final double[] ofBatch;

  private CostEstimator(Costs prior, int buckets) {
    this.prior = requireNonNull(prior, "prior");
    if (prior.size() == 0) {
      throw new IllegalArgumentException("prior must have at least 1 cost, got none");
    }
    if (buckets < 1 || buckets > MAX_BUCKETS) {
      throw new IllegalArgumentException(
          "buckets must be in [1, %d], got %d".formatted(MAX_BUCKETS, buckets));
    }
    limits = limits(prior, buckets);
    unknowns = limits.length + 1;
    sums = new double[unknowns * unknowns + unknowns + 1];
    ofBatch = new double[unknowns];
  }

  /**
   * Creates an estimator without measurements.
   *
   * @param prior the assumed cost of each sample, such as its length; 0 counts as 1
   * @param buckets maximum number of buckets, in [1, 256]; they hold about the same number of
   *     samples, and samples of equal prior cost share one
   * @return the estimator
   * @throws IllegalArgumentException if there are no samples, or {@code buckets} is out of range
   */
  public static CostEstimator of(Costs prior, int buckets) {
    return new CostEstimator(prior, buckets);
  }

  /**
   * Adds a measured batch.
   *
   * @param indices the dataset indices of the batch, from element 0 on
   * @param count number of samples in the batch, at least 1
   * @param time the time that the batch took, in any unit, positive and finite
   * @throws IllegalArgumentException if {@code count} is less than 1, or {@code time} is out of
   *     range
   * @throws IndexOutOfBoundsException if {@code count} exceeds the length of {@code indices}, or an
   *     index has no prior cost; nothing is added then
   */
  public void add(long[] indices, int count, double time) {
    requireNonNull(indices, "indices");
    Checks.requireCount("count", count, indices.length);
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
   * Makes everything added so far count less than later costs; called once per epoch, this yields
   * an exponential average over the epochs.
   *
   * @param share by how much, in [0, 1]: 0 changes nothing, 1 forgets everything
   * @throws IllegalArgumentException if {@code share} is out of range
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
   * Returns everything added so far, in a form that can be summed over ranks and stored.
   *
   * @return a copy of the sums; its length is the same for equal prior costs and buckets
   */
  public double[] sums() {
    return sums.clone();
  }

  /**
   * Adds the measurements of another rank's estimator.
   *
   * @param others that estimator's {@link #sums}
   * @throws IllegalArgumentException if they differ in number from this estimator's, or are not
   *     finite
   */
  public void addSums(double[] others) {
    requireNonNull(others, "others");
    if (others.length != sums.length) {
      throw new IllegalArgumentException(
          "others must have %d sums, from an estimator with the same prior and buckets, got %d"
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
   * Returns the costs as currently estimated. They have no unit: the largest is 2^30, since balance
   * depends on ratios only. Equal sums yield equal costs on every machine.
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
    double scale = MAX_COST / largest;
    return Costs.computed(
        prior.size(),
        index -> {
          long cost = priorOf(index);
          return Math.round(cost * rates[bucketOf(cost)] * scale);
        });
  }

  /** Returns the rate of each bucket, none below a thousandth of the average rate. */
  private double[] rates() {
    double time = sums[unknowns * unknowns];
    double cost = 0;
    for (int bucket = 1; bucket < unknowns; bucket++) {
      cost += sums[bucket];
    }
    double average = time / cost;
    if (!(average > 0 && average <= Double.MAX_VALUE)) {
      throw new IllegalStateException(
          "an estimate needs measured times whose sum is positive and finite, got "
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
      rates[bucket] = Math.max(MIN_RATE * average, average + right[1 + bucket]);
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
