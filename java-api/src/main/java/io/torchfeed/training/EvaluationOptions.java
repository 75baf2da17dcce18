// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The time and the consequences of an evaluation in a {@link TrainingLoop}. Immutable: each {@code
 * with} method returns new options. The same on all ranks.
 */
public final class EvaluationOptions {
  static final long EACH_EPOCH = 0;
  static final int NEVER = 0;

  final boolean isLoss;
  final long everySteps;
  final int patience;
  final double minDelta;
  private final @Nullable Plateau plateau;

  private EvaluationOptions(
      boolean isLoss, long everySteps, int patience, double minDelta, @Nullable Plateau plateau) {
    this.isLoss = isLoss;
    this.everySteps = everySteps;
    this.patience = patience;
    this.minDelta = minDelta;
    this.plateau = plateau;
  }

  /**
   * Returns the options of a metric that is better if it is lower.
   *
   * @return an evaluation at the end of each epoch, which never stops the training
   */
  public static EvaluationOptions ofLoss() {
    return new EvaluationOptions(true, EACH_EPOCH, NEVER, 0, null);
  }

  /**
   * Returns the options of a metric that is better if it is higher, as an accuracy.
   *
   * @return an evaluation at the end of each epoch, which never stops the training
   */
  public static EvaluationOptions ofScore() {
    return new EvaluationOptions(false, EACH_EPOCH, NEVER, 0, null);
  }

  /**
   * Returns these options with an evaluation after a number of steps, in place of each epoch.
   *
   * @param steps from one to the next, at least 1
   * @return the options
   * @throws IllegalArgumentException if the number is below 1
   */
  public EvaluationOptions withEverySteps(long steps) {
    if (steps < 1) {
      throw new IllegalArgumentException(
          "the steps between evaluations must be at least 1, got " + steps);
    }
    return new EvaluationOptions(isLoss, steps, patience, minDelta, plateau);
  }

  /**
   * Returns these options with an early stop, as {@code EarlyStopping} of PyTorch Lightning and of
   * Ignite: the training ends with {@link TrainingLoop.Outcome#STOPPED_EARLY} when a number of
   * evaluations in a row were no better than the best before them.
   *
   * @param evaluations how many, at least 1
   * @return the options
   * @throws IllegalArgumentException if the number is below 1
   */
  public EvaluationOptions withPatience(int evaluations) {
    if (evaluations < 1) {
      throw new IllegalArgumentException("the patience must be at least 1, got " + evaluations);
    }
    return new EvaluationOptions(isLoss, everySteps, evaluations, minDelta, plateau);
  }

  /**
   * Returns these options with another difference by which a metric must be better than the best
   * one to count as better. It has no effect on which checkpoint is the best.
   *
   * @param delta at least 0 and finite; 0 by default
   * @return the options
   * @throws IllegalArgumentException if it is negative or not finite
   */
  public EvaluationOptions withMinDelta(double delta) {
    if (!(delta >= 0) || Double.isInfinite(delta)) {
      throw new IllegalArgumentException("delta must be at least 0 and finite, got " + delta);
    }
    return new EvaluationOptions(isLoss, everySteps, patience, delta, plateau);
  }

  /**
   * Returns these options with a schedule to which the loop {@linkplain Plateau#report reports}
   * each metric, and whose state it saves.
   *
   * @param plateau of the loop's learning rate, and of the same kind of metric; borrowed
   * @return the options
   * @throws IllegalArgumentException if it is of the other kind of metric
   */
  public EvaluationOptions withPlateau(Plateau plateau) {
    if (requireNonNull(plateau, "plateau").isLoss() != isLoss) {
      throw new IllegalArgumentException(
          "the plateau must be of a %s, as the evaluation, got one of a %s"
              .formatted(kind(), plateau.isLoss() ? "loss" : "score"));
    }
    return new EvaluationOptions(isLoss, everySteps, patience, minDelta, plateau);
  }

  /** Returns the options that must be the same on all ranks; of none, if null. */
  static long[] numbers(@Nullable EvaluationOptions options) {
    return options == null
        ? new long[] {-1, 0, 0, 0}
        : new long[] {
          options.everySteps,
          options.isLoss ? 1 : 0,
          options.patience,
          Double.doubleToLongBits(options.minDelta)
        };
  }

  Optional<Plateau> plateau() {
    return Optional.ofNullable(plateau);
  }

  /** Returns the kind of metric. */
  String kind() {
    return isLoss ? "loss" : "score";
  }
}
