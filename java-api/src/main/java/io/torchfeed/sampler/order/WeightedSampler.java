// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.CounterRandom;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.ComputedCursor;
import io.torchfeed.sampler.cursor.PlanChecks;

/**
 * Samples drawn by weight, with replacement, each draw a function of seed, epoch and position.
 *
 * <p>Because no draw depends on another, the order can be distributed over ranks ({@link
 * StridedSampler}) and resumed in constant time; PyTorch's {@code WeightedRandomSampler} draws a
 * whole pass at once and has no distributed form. A sample of weight 0 is never drawn, nor is one
 * lighter than the heaviest by a factor beyond the range of a double. The values are torchfeed's
 * own, the same on every machine.
 *
 * <p>The alias table is built with the plan and shared by its cursors: it takes 12 bytes per
 * weight, and reading an index and {@link io.torchfeed.sampler.Seekable#seek} take O(1). Immutable;
 * any number of threads may open cursors.
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
    this.samples = PlanChecks.requireSamples(samples);
    this.seed = seed;
  }

  /**
   * Returns a plan.
   *
   * @param weights one weight per sample of the dataset, each finite and at least 0, not all 0;
   *     copied
   * @param samples number of draws in an epoch, in [0, 2<sup>62</sup>]
   * @param seed any value
   * @return the plan
   * @throws IllegalArgumentException if there is no weight, one is NaN, negative or infinite (the
   *     message names its index), all are 0, or {@code samples} is out of range
   */
  public static WeightedSampler of(double[] weights, long samples, long seed) {
    requireNonNull(weights, "weights");
    return new WeightedSampler(Weights.of(weights), samples, seed);
  }

  /**
   * Returns a plan over single-precision weights, equal to the plan over the same weights as
   * doubles.
   *
   * @param weights one weight per sample of the dataset, each finite and at least 0, not all 0;
   *     copied
   * @param samples number of draws in an epoch, in [0, 2<sup>62</sup>]
   * @param seed any value
   * @return the plan
   * @throws IllegalArgumentException as {@link #of} does
   */
  public static WeightedSampler ofFloats(float[] weights, long samples, long seed) {
    requireNonNull(weights, "weights");
    return of(Weights.widened(weights), samples, seed);
  }

  @Override
  public long size() {
    return samples;
  }

  @Override
  public Cursor epoch(long epoch) {
    Checks.requireEpoch(epoch);
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
    return PlanChecks.described(this);
  }
}
