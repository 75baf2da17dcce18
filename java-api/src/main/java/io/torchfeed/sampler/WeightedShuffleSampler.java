// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Arrays;

/**
 * Samples drawn by weight, without replacement: each draw takes one of the samples left, with a
 * probability in proportion to its weight.
 *
 * <p>Source: P. S. Efraimidis, P. G. Spirakis, Weighted random sampling with a reservoir, Inf.
 * Process. Lett. 97(5), 2006: sample i gets the key -log(u)/weight, u uniform in (0, 1], and the
 * smallest keys come first. PyTorch's {@code multinomial} takes the same law from other random
 * numbers. Samples of weight 0 are never drawn.
 *
 * <p>Opening an epoch costs O(n log n) and 16 bytes a sample, of which an open cursor keeps 4 for
 * each index of the epoch; {@link Cursor#seek} is constant. The keys use {@link StrictMath}, so the
 * order is the same on every machine. Immutable; any number of threads may open cursors.
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
   * A plan of every sample that has a weight above 0.
   *
   * @param weights one weight a sample of the dataset, finite and at least 0, not all 0; copied
   * @param seed any number
   * @return the plan
   * @throws IllegalArgumentException if there is no weight, one is NaN, negative or infinite (the
   *     message names its index), or all are 0
   */
  public static WeightedShuffleSampler of(double[] weights, long seed) {
    Weights checked = Weights.of(weights);
    return new WeightedShuffleSampler(checked, checked.positive(), seed);
  }

  /**
   * A plan of the first samples of that order.
   *
   * @param weights one weight a sample of the dataset, finite and at least 0, not all 0; copied
   * @param samples number of samples in an epoch, in [0, number of weights above 0]
   * @param seed any number
   * @return the plan
   * @throws IllegalArgumentException if {@code samples} is outside of its range, or for weights as
   *     above
   */
  public static WeightedShuffleSampler of(double[] weights, long samples, long seed) {
    return new WeightedShuffleSampler(Weights.of(weights), samples, seed);
  }

  @Override
  public long size() {
    return samples;
  }

  @Override
  public Cursor epoch(long epoch) {
    Arguments.requireEpoch(epoch);
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

  /** Finite where the weight is positive, so that the weights of 0 come last and are cut off. */
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
    return Orders.described(this);
  }
}
