// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.ContentHash;
import io.torchfeed.internal.IndexList;
import io.torchfeed.internal.Mt19937;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.cursor.ListCursor;

/**
 * The order of PyTorch's Python {@code WeightedRandomSampler} with a generator of its own: indices
 * drawn in proportion to weights.
 *
 * <p>Source: torch 2.10.0, {@code torch/utils/data/sampler.py} and {@code multinomial} on the CPU,
 * in pure Java; golden/python_samplers.py. With replacement and more than one draw, the order is
 * PyTorch's bit for bit: a search in the cumulative sums. Otherwise PyTorch divides each weight by
 * exponential noise and takes the largest; Java's logarithm differs from the C library's in the
 * last bit of some values, so two indices can swap places where their quotients are that close.
 * Equal quotients have no defined order in PyTorch; here the lower index comes first, and weights
 * of 0 come last.
 *
 * <p>Epoch e is pass e, counted from 0, over a sampler whose generator was seeded once, with {@code
 * seed}; {@link #withGeneratorUse} covers the passes of a {@code DataLoader} and those without a
 * generator. PyTorch checks weights when it draws; here {@link #of} does.
 *
 * <p>Immutable; any number of threads may open cursors. The plan takes 8 bytes per weight and an
 * open cursor 4 bytes per draw; opening takes 8 more bytes per weight, or without replacement 16
 * and one sort. Opening skips the random numbers of earlier epochs, in constant time if they are
 * many; {@link io.torchfeed.sampler.Seekable#seek} takes constant time.
 */
public final class WeightedRandomSampler implements Sampler {
  private final double[] weights;
  private final String weightsHash;
  private final int numSamples;
  private final boolean replacement;
  private final long seed;
  private final PythonGenerator.Use generatorUse;

  private WeightedRandomSampler(
      double[] weights,
      String weightsHash,
      int numSamples,
      boolean replacement,
      long seed,
      PythonGenerator.Use generatorUse) {
    this.weights = weights;
    this.weightsHash = weightsHash;
    this.numSamples = numSamples;
    this.replacement = replacement;
    this.seed = seed;
    this.generatorUse = generatorUse;
  }

  /**
   * Creates a plan that draws with replacement, which is PyTorch's default; {@link
   * #withReplacement} draws without. The weights are copied.
   *
   * @param weights one weight per sample of the dataset, [1, 2<sup>24</sup>] of them; each finite
   *     and at least 0, not all 0, and with a finite sum, which need not be 1
   * @param numSamples number of draws in an epoch, in [1, 2147483639]
   * @param seed the seed of the generator, any value; only its low 32 bits count
   * @return the plan
   * @throws IllegalArgumentException if an argument is out of range
   */
  public static WeightedRandomSampler of(double[] weights, long numSamples, long seed) {
    double[] own = requireNonNull(weights, "weights").clone();
    Multinomial.requireWeights(own);
    Multinomial.requireSamples(numSamples, own.length, true);
    return new WeightedRandomSampler(
        own,
        new ContentHash().add(own).hex(),
        (int) numSamples,
        true,
        seed,
        PythonGenerator.Use.SAMPLER);
  }

  /**
   * Returns this plan with or without replacement.
   *
   * @param replacement whether a drawn index can be drawn again. Without replacement, {@code
   *     numSamples} must be at most the number of weights; indices of weight 0 are drawn when no
   *     others are left
   * @return the new plan
   * @throws IllegalArgumentException if there are fewer weights than draws without replacement
   */
  public WeightedRandomSampler withReplacement(boolean replacement) {
    Multinomial.requireSamples(numSamples, weights.length, replacement);
    return new WeightedRandomSampler(
        weights, weightsHash, numSamples, replacement, seed, generatorUse);
  }

  /**
   * Returns this plan with another use of the generator.
   *
   * @param generatorUse the other users of the sampler's generator
   * @return the new plan
   */
  public WeightedRandomSampler withGeneratorUse(PythonGenerator.Use generatorUse) {
    return new WeightedRandomSampler(
        weights,
        weightsHash,
        numSamples,
        replacement,
        seed,
        requireNonNull(generatorUse, "generatorUse"));
  }

  @Override
  public long size() {
    return numSamples;
  }

  @Override
  public Cursor epoch(long epoch) {
    long outputs = Multinomial.outputs(replacement, numSamples, weights.length);
    Mt19937 generator = generatorUse.generator(seed, epoch, outputs);
    int[] list = IndexList.ints(this, numSamples);
    Multinomial.draw(weights, replacement, list, generator);
    return new ListCursor(this, IndexList.of(list));
  }

  @Override
  public PlanParameters parameters() {
    return generatorUse.addedTo(
        PlanParameters.of("python.WeightedRandomSampler")
            .with("weights", weightsHash)
            .with("datasetSize", weights.length)
            .with("numSamples", numSamples)
            .with("replacement", replacement ? "WITH" : "WITHOUT")
            .with("seed", seed));
  }

  /** Describes the plan by its size, draws, seed and use of the generator. */
  @Override
  public String toString() {
    return "WeightedRandomSampler[datasetSize=%d, numSamples=%d, replacement=%s, seed=%d, generatorUse=%s]"
        .formatted(weights.length, numSamples, replacement, seed, generatorUse);
  }
}
