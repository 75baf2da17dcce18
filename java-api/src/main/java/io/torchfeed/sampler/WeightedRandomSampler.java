// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

/**
 * The order of PyTorch's Python {@code WeightedRandomSampler} with a generator of its own: indices
 * drawn in proportion to weights.
 *
 * <p>Source: torch 2.10.0, {@code torch/utils/data/sampler.py} and {@code multinomial} on the CPU,
 * in pure Java; golden/python_samplers.py. With replacement, and more than one draw, the order is
 * PyTorch's bit for bit: a search in the running sums. Otherwise PyTorch divides each weight by
 * exponential noise and takes the largest; Java's logarithm differs from the C library's in the
 * last bit of some values, so two indices can change places where the quotients are that close.
 * Equal quotients have no defined order in PyTorch; here the lower index comes first, and weights
 * of 0 come last.
 *
 * <p>Epoch e is pass e, counted from 0, over a sampler whose generator was seeded once, with {@code
 * seed}. PyTorch checks weights at the draw; here the constructor does.
 *
 * <p>Immutable; any number of threads may open cursors. The plan holds 8 bytes for each weight, an
 * open cursor 4 bytes for each draw; without replacement opening takes 16 bytes more for each
 * weight and one sort. Opening passes over the random numbers of the epochs before, in constant
 * time when they are many; {@link Cursor#seek} is constant.
 */
public final class WeightedRandomSampler implements Sampler {
  /** Running sums where {@link Multinomial#drawsFromSums}, otherwise the weights. */
  private final double[] weights;

  private final int numSamples;
  private final Replacement replacement;
  private final long seed;
  private final PlanParameters parameters;

  /**
   * A plan. The weights are copied.
   *
   * @param weights one for each sample of the dataset, [1, 2<sup>24</sup>] of them; finite, at
   *     least 0, not all 0, and with a finite sum; they need not sum to 1
   * @param numSamples number of draws in an epoch, in [1, 2147483639]; without replacement at most
   *     the number of weights
   * @param replacement whether an index that was drawn can be drawn again
   * @param seed the seed of the generator, any number; its low 32 bits count
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public WeightedRandomSampler(
      double[] weights, long numSamples, Replacement replacement, long seed) {
    requireNonNull(replacement, "replacement");
    this.weights = weights.clone();
    requireWeights(this.weights);
    Passes.requireSamples(numSamples);
    if (replacement == Replacement.WITHOUT && numSamples > weights.length) {
      throw new IllegalArgumentException(
          "numSamples must be at most the number of weights (%d) without replacement, got %d"
              .formatted(weights.length, numSamples));
    }
    this.numSamples = (int) numSamples;
    this.replacement = replacement;
    this.seed = seed;
    this.parameters =
        PlanParameters.of("python.WeightedRandomSampler")
            .with("weights", new ContentHash().add(this.weights).hex())
            .with("datasetSize", weights.length)
            .with("numSamples", numSamples)
            .with("replacement", replacement)
            .with("seed", seed);
    if (Multinomial.drawsFromSums(replacement, numSamples)) {
      Multinomial.accumulate(this.weights);
    }
  }

  /**
   * A plan that draws with replacement, which is PyTorch's default. The weights are copied.
   *
   * @param weights one for each sample of the dataset, [1, 2<sup>24</sup>] of them; finite, at
   *     least 0, not all 0, and with a finite sum; they need not sum to 1
   * @param numSamples number of draws in an epoch, in [1, 2147483639]
   * @param seed the seed of the generator, any number; its low 32 bits count
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  public WeightedRandomSampler(double[] weights, long numSamples, long seed) {
    this(weights, numSamples, Replacement.WITH, seed);
  }

  private static void requireWeights(double[] weights) {
    if (weights.length < 1 || weights.length > Multinomial.MOST_WEIGHTS) {
      throw new IllegalArgumentException(
          "weights must be [1, %d] numbers, the most that torch.multinomial takes, got %d"
              .formatted(Multinomial.MOST_WEIGHTS, weights.length));
    }
    double sum = 0;
    for (int i = 0; i < weights.length; i++) {
      if (!(weights[i] >= 0) || weights[i] == Double.POSITIVE_INFINITY) {
        throw new IllegalArgumentException(
            "weights must be finite and at least 0, got %s at position %d"
                .formatted(weights[i], i));
      }
      sum += weights[i];
    }
    if (!(sum > 0 && sum < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException(
          "the sum of weights must be finite and more than 0, got " + sum);
    }
  }

  @Override
  public long size() {
    return numSamples;
  }

  @Override
  public Cursor epoch(long epoch) {
    long outputs = Multinomial.outputs(replacement, numSamples, weights.length);
    Mt19937 generator = Passes.generator(seed, epoch, outputs);
    int[] list = IndexList.ints(this, numSamples);
    if (Multinomial.drawsFromSums(replacement, numSamples)) {
      Multinomial.withReplacement(weights, list, generator);
    } else {
      Multinomial.withoutReplacement(weights, list, generator);
    }
    return new ListCursor(this, IndexList.of(list));
  }

  @Override
  public PlanParameters parameters() {
    return parameters;
  }

  /** Names the plan by its size, draws and seed. */
  @Override
  public String toString() {
    return "WeightedRandomSampler[datasetSize=%d, numSamples=%d, replacement=%s, seed=%d]"
        .formatted(weights.length, numSamples, replacement, seed);
  }
}
