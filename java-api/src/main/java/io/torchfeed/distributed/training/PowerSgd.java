// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import org.jspecify.annotations.Nullable;

/**
 * The exchange of low-rank approximations: a gradient with n rows (its first dimension) and m
 * columns is sent as matrices of n + m rows and few columns, if that is small enough. Gradients of
 * float32 and float64 only.
 *
 * <p>Source: PyTorch 2.10.0, {@code powerSGD_hook}, with its values up to rounding; but the state
 * of each parameter survives the forming of new buckets after the first backward pass, and a
 * gradient of zeros remains so. All ranks must run on processors of one kind to get the same bits.
 *
 * <p>Immutable: each {@code with} method returns a new exchange. Exchanges of equal options are
 * equal.
 */
public final class PowerSgd implements GradientExchange {
  static final PowerSgd DEFAULTS = new PowerSgd(new Options(1, 1_000, 2, true, true, 0, false, 0));

  /** The options under PyTorch's names. */
  record Options(
      int matrixApproximationRank,
      long startIteration,
      double minCompressionRate,
      boolean errorFeedback,
      boolean warmStart,
      double orthogonalizationEpsilon,
      boolean batchTensorsWithSameShape,
      long randomSeed) {
    Options {
      NativeExchange.require(
          matrixApproximationRank >= 1,
          "matrixApproximationRank must be at least 1, got " + matrixApproximationRank);
      NativeExchange.require(
          startIteration >= 0, "startIteration must be at least 0, got " + startIteration);
      NativeExchange.require(
          minCompressionRate > 0, "minCompressionRate must be above 0, got " + minCompressionRate);
      NativeExchange.require(
          orthogonalizationEpsilon >= 0,
          "orthogonalizationEpsilon must be at least 0, got " + orthogonalizationEpsilon);
      NativeExchange.require(
          randomSeed >= 0 && randomSeed < 1L << 32,
          "randomSeed must be in [0, 2^32), got " + randomSeed);
    }
  }

  private final Options options;

  private PowerSgd(Options options) {
    this.options = options;
  }

  Options options() {
    return options;
  }

  @Override
  public int ranksPerNode() {
    return 1;
  }

  /**
   * Returns this exchange with a different number of columns.
   *
   * @param rank at least 1; by default 1
   * @return the exchange
   * @throws IllegalArgumentException if the rank is below 1
   */
  public PowerSgd withMatrixApproximationRank(int rank) {
    return new PowerSgd(
        new Options(
            rank,
            options.startIteration,
            options.minCompressionRate,
            options.errorFeedback,
            options.warmStart,
            options.orthogonalizationEpsilon,
            options.batchTensorsWithSameShape,
            options.randomSeed));
  }

  /**
   * Returns this exchange with a different start.
   *
   * @param passes how many backward passes average whole gradients before, at least 0; by default
   *     1000
   * @return the exchange
   * @throws IllegalArgumentException if the number is negative
   */
  public PowerSgd withStartIteration(long passes) {
    return new PowerSgd(
        new Options(
            options.matrixApproximationRank,
            passes,
            options.minCompressionRate,
            options.errorFeedback,
            options.warmStart,
            options.orthogonalizationEpsilon,
            options.batchTensorsWithSameShape,
            options.randomSeed));
  }

  /**
   * Returns this exchange with a different threshold.
   *
   * @param rate the factor by which an approximation must be smaller than the gradient; others are
   *     sent whole. Above 0; by default 2
   * @return the exchange
   * @throws IllegalArgumentException if the rate is not above 0
   */
  public PowerSgd withMinCompressionRate(double rate) {
    return new PowerSgd(
        new Options(
            options.matrixApproximationRank,
            options.startIteration,
            rate,
            options.errorFeedback,
            options.warmStart,
            options.orthogonalizationEpsilon,
            options.batchTensorsWithSameShape,
            options.randomSeed));
  }

  /**
   * Returns this exchange with or without error feedback, which takes memory for another copy of
   * the gradients.
   *
   * <p>Each rank adds its own errors to its own gradients, so the mean over the ranks is fed back.
   * {@link DistributedDataParallel#rebind} keeps that mean when ranks join, which have no errors:
   * of {@code n} ranks in the new group, the {@code k} that have trained multiply their errors by
   * {@code n / k}. The errors of ranks that leave are lost; the mean over the others takes their
   * place. PyTorch's hook cannot change its group.
   *
   * @param feedback whether the error of an approximation is added to the next gradient; by default
   *     it is
   * @return the exchange
   */
  public PowerSgd withErrorFeedback(boolean feedback) {
    return new PowerSgd(
        new Options(
            options.matrixApproximationRank,
            options.startIteration,
            options.minCompressionRate,
            feedback,
            options.warmStart,
            options.orthogonalizationEpsilon,
            options.batchTensorsWithSameShape,
            options.randomSeed));
  }

  /**
   * Returns this exchange with or without a warm start.
   *
   * @param warm whether an approximation starts from the one before; by default it does. If not,
   *     each starts from random numbers
   * @return the exchange
   */
  public PowerSgd withWarmStart(boolean warm) {
    return new PowerSgd(
        new Options(
            options.matrixApproximationRank,
            options.startIteration,
            options.minCompressionRate,
            options.errorFeedback,
            warm,
            options.orthogonalizationEpsilon,
            options.batchTensorsWithSameShape,
            options.randomSeed));
  }

  /**
   * Returns this exchange with a different summand.
   *
   * @param epsilon a summand of the norm of a column before a division by it, at least 0; by
   *     default 0
   * @return the exchange
   * @throws IllegalArgumentException if it is negative
   */
  public PowerSgd withOrthogonalizationEpsilon(double epsilon) {
    return new PowerSgd(
        new Options(
            options.matrixApproximationRank,
            options.startIteration,
            options.minCompressionRate,
            options.errorFeedback,
            options.warmStart,
            epsilon,
            options.batchTensorsWithSameShape,
            options.randomSeed));
  }

  /**
   * Returns this exchange with or without one computation for gradients of equal shape.
   *
   * @param batch whether such gradients of a bucket are approximated together; by default each is
   *     by itself
   * @return the exchange
   */
  public PowerSgd withBatchTensorsWithSameShape(boolean batch) {
    return new PowerSgd(
        new Options(
            options.matrixApproximationRank,
            options.startIteration,
            options.minCompressionRate,
            options.errorFeedback,
            options.warmStart,
            options.orthogonalizationEpsilon,
            batch,
            options.randomSeed));
  }

  /**
   * Returns this exchange with a different seed of the random numbers.
   *
   * @param seed in [0, 2<sup>32</sup>); by default 0
   * @return the exchange
   * @throws IllegalArgumentException if it is out of range
   */
  public PowerSgd withRandomSeed(long seed) {
    return new PowerSgd(
        new Options(
            options.matrixApproximationRank,
            options.startIteration,
            options.minCompressionRate,
            options.errorFeedback,
            options.warmStart,
            options.orthogonalizationEpsilon,
            options.batchTensorsWithSameShape,
            seed));
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof PowerSgd powerSgd && options.equals(powerSgd.options);
  }

  @Override
  public int hashCode() {
    return options.hashCode();
  }

  /**
   * Returns the options as text.
   *
   * @return for example {@code PowerSgd[matrixApproximationRank=1, ...]}
   */
  @Override
  public String toString() {
    return options.toString().replaceFirst("Options", "PowerSgd");
  }
}
