// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/**
 * Samples drawn by weight, with replacement, each draw a function of seed, epoch and position.
 *
 * <p>Because a draw needs no other, the order can be dealt over ranks ({@link StridedSampler}) and
 * resumed in constant time; PyTorch's {@code WeightedRandomSampler} draws a pass at once and has no
 * distributed form. A sample of weight 0 is never drawn, nor one lighter than the heaviest by a
 * factor beyond the range of a double. The values are torchfeed's own, the same on every machine.
 *
 * <p>The alias table is made with the plan and shared by its cursors: 12 bytes a weight, O(1) for
 * an index and for {@link Cursor#seek}. Immutable; any number of threads may open cursors.
 */
public final class WeightedSampler implements Sampler {
  private static final long SALT = 0x7765696768746564L; // "weighted"

  private final AliasTable table;
  private final int datasetSize;
  private final String hash;
  private final long samples;
  private final long seed;

  private WeightedSampler(Weights weights, long samples, long seed) {
    this.table = new AliasTable(weights);
    this.datasetSize = weights.count();
    this.hash = weights.hash();
    this.samples = Orders.requireSamples(samples);
    this.seed = seed;
  }

  /**
   * A plan.
   *
   * @param weights one weight a sample of the dataset, finite and at least 0, not all 0; copied
   * @param samples number of draws in an epoch, in [0, 2<sup>62</sup>]
   * @param seed any number
   * @return the plan
   * @throws IllegalArgumentException if there is no weight, one is NaN, negative or infinite (the
   *     message names its index), all are 0, or {@code samples} is outside of its range
   */
  public static WeightedSampler of(double[] weights, long samples, long seed) {
    return new WeightedSampler(Weights.of(weights), samples, seed);
  }

  /**
   * A plan over weights of single precision; equal to that over the same weights as doubles.
   *
   * @param weights one weight a sample of the dataset, finite and at least 0, not all 0; copied
   * @param samples number of draws in an epoch, in [0, 2<sup>62</sup>]
   * @param seed any number
   * @return the plan
   * @throws IllegalArgumentException as {@link #of} does
   */
  public static WeightedSampler ofFloats(float[] weights, long samples, long seed) {
    return of(Weights.widened(weights), samples, seed);
  }

  @Override
  public long size() {
    return samples;
  }

  @Override
  public Cursor epoch(long epoch) {
    Arguments.requireEpoch(epoch);
    long key = CounterRandom.key(SALT, seed, epoch);
    return new ComputedCursor(
        this,
        samples,
        position ->
            table.draw(
                CounterRandom.word(key, 2 * position), CounterRandom.word(key, 2 * position + 1)));
  }

  @Override
  public PlanParameters parameters() {
    return PlanParameters.of("seekable.WeightedSampler")
        .with("datasetSize", datasetSize)
        .with("weights", hash)
        .with("samples", samples)
        .with("seed", seed);
  }

  @Override
  public String toString() {
    return Orders.described(this);
  }
}
