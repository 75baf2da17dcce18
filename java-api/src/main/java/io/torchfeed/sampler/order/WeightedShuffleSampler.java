// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.CounterRandom;
import io.torchfeed.internal.HeapMemory;
import io.torchfeed.internal.KeyOrder;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.ComputedCursor;
import io.torchfeed.sampler.cursor.PlanChecks;
import java.util.Arrays;

/**
 * Samples drawn by weight, without replacement: each draw takes one of the remaining samples, with
 * a probability proportional to its weight.
 *
 * <p>Source: P. S. Efraimidis, P. G. Spirakis, Weighted random sampling with a reservoir, Inf.
 * Process. Lett. 97(5), 2006: sample i gets the key -log(u)/weight, u uniform in (0, 1], and the
 * smallest keys come first. PyTorch's {@code multinomial} follows the same law with other random
 * numbers. Samples of weight 0 are never drawn.
 *
 * <p>Opening an epoch takes O(n log n) time and 16 bytes per sample; an open cursor keeps 4 per
 * index of the epoch; {@link io.torchfeed.sampler.Seekable#seek} takes constant time. The keys use
 * {@link StrictMath}, so the order is the same on every machine. Immutable; any number of threads
 * may open cursors.
 */
public final class WeightedShuffleSampler implements Sampler {
  private static final long SALT = 0x7773687566666C65L; // "wshuffle"

  private final Weights weights;
  private final int samples;
  private final long seed;

  private WeightedShuffleSampler(Weights weights, long samples, long seed) {
    if (samples < 0 || samples > weights.positive()) {
      throw new IllegalArgumentException(
          ("samples must be in [0, %d], the number of weights above 0, since none is drawn twice,"
                  + " got %d")
              .formatted(weights.positive(), samples));
    }
    this.weights = weights;
    this.samples = (int) samples;
    this.seed = seed;
  }

  /**
   * Returns a plan of every sample that has a weight above 0.
   *
   * @param weights one weight per sample of the dataset, each finite and at least 0, not all 0;
   *     copied
   * @param seed any value
   * @return the plan
   * @throws IllegalArgumentException if there is no weight, one is NaN, negative or infinite (the
   *     message names its index), or all are 0
   */
  public static WeightedShuffleSampler of(double[] weights, long seed) {
    requireNonNull(weights, "weights");
    Weights checked = Weights.of(weights);
    return new WeightedShuffleSampler(checked, checked.positive(), seed);
  }

  /**
   * Returns a plan of the first samples of the order of {@link #of(double[], long)}.
   *
   * @param weights one weight per sample of the dataset, each finite and at least 0, not all 0;
   *     copied
   * @param samples number of samples in an epoch, in [0, number of weights above 0]
   * @param seed any value
   * @return the plan
   * @throws IllegalArgumentException if {@code samples} is out of range, or as {@link #of(double[],
   *     long)} throws for the weights
   */
  public static WeightedShuffleSampler of(double[] weights, long samples, long seed) {
    requireNonNull(weights, "weights");
    return new WeightedShuffleSampler(Weights.of(weights), samples, seed);
  }

  @Override
  public long size() {
    return samples;
  }

  @Override
  public Cursor epoch(long epoch) {
    Checks.requireEpoch(epoch);
    int[] order = HeapMemory.planned(this, () -> order(epoch));
    return new ComputedCursor(this, samples, position -> order[(int) position]);
  }

  private int[] order(long epoch) {
    long key = CounterRandom.key(SALT, seed, epoch);
    double[] keys = new double[weights.count()];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = key(CounterRandom.word(key, i), weights.get(i));
    }
    return Arrays.copyOf(KeyOrder.ascending(keys), samples);
  }

  /**
   * Returns a key that is finite where the weight is positive, so that the weights of 0 come last
   * and are cut off.
   */
  private static double key(long word, double weight) {
    double noise = -StrictMath.log(CounterRandom.positiveUnit(word));
    return weight > 0 ? Math.min(noise / weight, Double.MAX_VALUE) : Double.POSITIVE_INFINITY;
  }

  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("seekable.WeightedShuffleSampler")
        .with("datasetSize", weights.count())
        .with("weights", weights.hash())
        .with("samples", samples)
        .with("seed", seed);
  }

  @Override
  public String toString() {
    return PlanChecks.described(this);
  }
}
