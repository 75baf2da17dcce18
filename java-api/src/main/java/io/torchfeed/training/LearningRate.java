// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import java.util.function.IntToDoubleFunction;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerOptions;
import org.bytedeco.pytorch.OptimizerParamGroupVector;

/**
 * The learning rate of an optimizer by a schedule, for a {@link TrainingLoop} or a loop of your
 * own.
 *
 * <pre>{@code
 * LearningRate rate = LearningRate.perStep(optimizer, Schedule.cosine(9_500).withWarmUp(500));
 * long step = 0;
 * for (Batch batch : batches) {
 *   rate.set(step++);
 *   train(batch.tensor(0), batch.tensor(1));
 * }
 * }</pre>
 *
 * <p>Each group of parameters has its own rate, which is multiplied by the factor of the schedule.
 * The rates are those that the optimizer has when this object is made: make it before a saved state
 * is loaded. It keeps nothing else, and is no part of a saved state. An optimizer has at most one
 * such object.
 *
 * <p>Not thread-safe: the thread that trains calls it.
 */
public final class LearningRate {
  private final Optimizer optimizer;
  private final Schedule schedule;
  private final boolean isPerEpoch;
  private final double[] rates;
  private IntToDoubleFunction ofRanks = ranks -> 1;

  private LearningRate(Optimizer optimizer, Schedule schedule, boolean isPerEpoch) {
    this.optimizer = requireNonNull(optimizer, "optimizer");
    this.schedule = requireNonNull(schedule, "schedule");
    this.isPerEpoch = isPerEpoch;
    try (PointerScope scope = new PointerScope()) {
      OptimizerParamGroupVector groups = groups();
      rates = new double[Math.toIntExact(groups.size())];
      for (int i = 0; i < rates.length; i++) {
        rates[i] = options(groups, i).get_lr();
      }
    }
  }

  /**
   * Returns the rate by a schedule of steps.
   *
   * @param optimizer of the presets; borrowed
   * @param schedule its factors of the optimizer's present rates
   * @return a learning rate
   * @throws IllegalArgumentException if the optimizer is closed
   */
  public static LearningRate perStep(Optimizer optimizer, Schedule schedule) {
    return new LearningRate(optimizer, schedule, false);
  }

  /**
   * Returns the rate by a schedule of epochs.
   *
   * @param optimizer of the presets; borrowed
   * @param schedule its factors of the optimizer's present rates
   * @return a learning rate
   * @throws IllegalArgumentException if the optimizer is closed
   */
  public static LearningRate perEpoch(Optimizer optimizer, Schedule schedule) {
    return new LearningRate(optimizer, schedule, true);
  }

  /**
   * Sets how the rate follows the number of ranks, which changes if they are elastic. By default it
   * does not.
   *
   * @param factor the factor for a world size: {@code ranks -> ranks / 8.0} keeps the rate of a
   *     sample if the optimizer has the rate for 8 ranks and each rank keeps its batch size
   * @return this object
   */
  public LearningRate forWorldSize(IntToDoubleFunction factor) {
    ofRanks = requireNonNull(factor, "factor");
    return this;
  }

  /**
   * Sets the rates of a step.
   *
   * @param step which step of the training it is
   * @throws IllegalArgumentException if a factor is negative or not finite, or the optimizer is
   *     closed
   * @throws IllegalStateException if the optimizer has other groups than at the beginning
   */
  public void set(Step step) {
    requireNonNull(step, "step");
    set(isPerEpoch ? step.epoch() : step.number(), ofRanks.applyAsDouble(step.worldSize()));
  }

  /**
   * Sets the rates of a step in a loop of your own, whatever the number of ranks.
   *
   * @param number the steps completed before it or, by a schedule of epochs, the epochs
   * @throws IllegalArgumentException as {@link #set(Step)}, or if the number is negative
   * @throws IllegalStateException as {@link #set(Step)}
   */
  public void set(long number) {
    if (number < 0) {
      throw new IllegalArgumentException("number must be at least 0, got " + number);
    }
    set(number, 1);
  }

  private void set(long number, double ofRanks) {
    double factor = schedule.factor(number) * ofRanks;
    if (!(factor >= 0) || Double.isInfinite(factor)) {
      throw new IllegalArgumentException(
          "the factor of a rate must be at least 0 and finite, got %s for %s %d"
              .formatted(factor, isPerEpoch ? "epoch" : "step", number));
    }
    try (PointerScope scope = new PointerScope()) {
      OptimizerParamGroupVector groups = groups();
      if (groups.size() != rates.length) {
        throw new IllegalStateException(
            "the optimizer has %d groups of parameters, and had %d when its LearningRate was made"
                .formatted(groups.size(), rates.length));
      }
      for (int i = 0; i < rates.length; i++) {
        options(groups, i).set_lr(rates[i] * factor);
      }
    }
  }

  /**
   * Returns the present rate of the first group of parameters.
   *
   * @return the rate
   * @throws IllegalArgumentException if the optimizer is closed
   */
  public double rate() {
    try (PointerScope scope = new PointerScope()) {
      return options(groups(), 0).get_lr();
    }
  }

  private OptimizerParamGroupVector groups() {
    if (optimizer.isNull()) {
      throw new IllegalArgumentException("the optimizer is closed");
    }
    return optimizer.param_groups();
  }

  private static OptimizerOptions options(OptimizerParamGroupVector groups, long group) {
    return groups.get(group).options();
  }
}
