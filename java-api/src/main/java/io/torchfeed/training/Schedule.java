// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import java.util.Arrays;

/**
 * A learning rate over steps or epochs, as a factor of the optimizer's own.
 *
 * <pre>{@code
 * Schedule ofSteps = Schedule.cosine(9_500).withWarmUp(500);
 * Schedule ofEpochs = Schedule.milestones(0.1, 30, 60, 80);
 * Schedule ofMine = Schedule.constant().then(100, step -> 1 / Math.sqrt(1.0 + step));
 * }</pre>
 *
 * <p>The factor depends on the number of the step alone. So a schedule keeps nothing: a training
 * that resumes, or goes back a step because a rank was lost, has the right rate. {@link Plateau} is
 * the exception.
 *
 * <p>The factors equal PyTorch's up to the rounding of doubles, which adds up there because each
 * rate is computed from the one before. Schedules that are made here are immutable and thread-safe.
 * Source: torch 2.10.0, {@code torch.optim.lr_scheduler}.
 */
@FunctionalInterface
public interface Schedule {
  /**
   * Returns the factor of a step.
   *
   * @param step the number of steps, or epochs, completed before it; at least 0
   * @return at least 0 and finite; usually at most 1
   */
  double factor(long step);

  /**
   * Returns a schedule that changes nothing.
   *
   * @return a schedule with the factor 1
   */
  static Schedule constant() {
    return step -> 1;
  }

  /**
   * Returns a schedule that moves in equal parts from one factor to another, and stays there; as
   * {@code LinearLR}.
   *
   * @param start the factor of step 0
   * @param end the factor of step {@code steps} and of all that follow
   * @param steps at least 1
   * @return a schedule
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  static Schedule linear(double start, double end, long steps) {
    requireFactor("start", start);
    requireFactor("end", end);
    requirePositive("steps", steps);
    return step -> start + (end - start) * Math.min(step, steps) / steps;
  }

  /**
   * Returns a schedule that falls from 1 to 0 along half a cosine, and stays there.
   *
   * @param steps at least 1
   * @return a schedule
   * @throws IllegalArgumentException if the number is below 1
   */
  static Schedule cosine(long steps) {
    return cosine(steps, 0);
  }

  /**
   * Returns a schedule that falls from 1 along half a cosine, and stays at its end; {@code
   * CosineAnnealingLR} rises again after {@code T_max} steps.
   *
   * @param steps at least 1
   * @param end the factor of step {@code steps} and of all that follow: Python's {@code eta_min},
   *     divided by the rate of the optimizer
   * @return a schedule
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  static Schedule cosine(long steps, double end) {
    requirePositive("steps", steps);
    requireFactor("end", end);
    return step -> cosineBetween(1, end, Math.min(step, steps) / (double) steps);
  }

  /**
   * Returns a schedule that is multiplied by a number after each run of steps; as {@code StepLR}.
   *
   * @param size the length of a run, at least 1
   * @param gamma at least 0
   * @return a schedule
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  static Schedule steps(long size, double gamma) {
    requirePositive("size", size);
    requireFactor("gamma", gamma);
    return step -> {
      long runs = step / size;
      return Math.pow(gamma, (double) runs);
    };
  }

  /**
   * Returns a schedule that is multiplied by a number at some steps; as {@code MultiStepLR}.
   *
   * @param gamma at least 0
   * @param milestones the steps, ascending and at least 0; one that is named twice counts twice
   * @return a schedule
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  static Schedule milestones(double gamma, long... milestones) {
    requireFactor("gamma", gamma);
    long[] at = requireNonNull(milestones, "milestones").clone();
    for (int i = 0; i < at.length; i++) {
      if (at[i] < (i == 0 ? 0 : at[i - 1])) {
        throw new IllegalArgumentException(
            "milestones must be ascending and at least 0, got " + Arrays.toString(at));
      }
    }
    return step -> {
      long passed = Arrays.stream(at).filter(each -> each <= step).count();
      return Math.pow(gamma, (double) passed);
    };
  }

  /**
   * Returns a schedule that is multiplied by a number in each step; as {@code ExponentialLR}.
   *
   * @param gamma at least 0
   * @return a schedule
   * @throws IllegalArgumentException if the number is negative or not finite
   */
  static Schedule exponential(double gamma) {
    requireFactor("gamma", gamma);
    return step -> Math.pow(gamma, (double) step);
  }

  /**
   * Returns a schedule that falls from 1 to 0 by a power of the rest, and stays there; as {@code
   * PolynomialLR}.
   *
   * @param steps at least 1
   * @param power above 0; 1 is a straight line
   * @return a schedule
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  static Schedule polynomial(long steps, double power) {
    requirePositive("steps", steps);
    if (!(power > 0) || Double.isInfinite(power)) {
      throw new IllegalArgumentException("power must be above 0 and finite, got " + power);
    }
    return step -> Math.pow(1 - Math.min(step, steps) / (double) steps, power);
  }

  /**
   * Returns a schedule that rises to 1 and falls again, along cosines: {@code OneCycleLR} with its
   * defaults and {@code cycle_momentum=False}, where the optimizer has the highest rate.
   *
   * @param steps the steps of the training, at least 2; later ones have the last factor
   * @return a schedule
   * @throws IllegalArgumentException if the number is below 2
   */
  static Schedule oneCycle(long steps) {
    return oneCycle(steps, 0.3, 25, 10_000);
  }

  /**
   * Returns a schedule that rises to 1 and falls again, along cosines; as {@code OneCycleLR} with
   * {@code cycle_momentum=False}, where the optimizer has the highest rate.
   *
   * @param steps the steps of the training, at least 2; later ones have the last factor
   * @param rising the share of steps before the highest rate, in (0, 1)
   * @param startDivisor the highest rate divided by the first one, at least 1
   * @param endDivisor the first rate divided by the last one, at least 1
   * @return a schedule
   * @throws IllegalArgumentException if an argument is outside of its range
   */
  static Schedule oneCycle(long steps, double rising, double startDivisor, double endDivisor) {
    if (steps < 2) {
      throw new IllegalArgumentException("steps must be at least 2, got " + steps);
    }
    double top = rising * steps - 1;
    if (!(rising > 0 && rising < 1) || top <= 0) {
      throw new IllegalArgumentException(
          "rising must be in (0, 1) and more than one of %d steps, got %s"
              .formatted(steps, rising));
    }
    requireDivisor("startDivisor", startDivisor);
    requireDivisor("endDivisor", endDivisor);
    double start = 1 / startDivisor;
    double end = start / endDivisor;
    return step -> {
      long at = Math.min(step, steps - 1);
      return at <= top
          ? cosineBetween(start, 1, at / top)
          : cosineBetween(1, end, (at - top) / (steps - 1 - top));
    };
  }

  /**
   * Returns this schedule up to a step, and another one from there; as {@code SequentialLR}.
   *
   * @param step the first step of the other one, which counts from there; at least 0
   * @param next the other one
   * @return a schedule
   * @throws IllegalArgumentException if the step is negative
   */
  default Schedule then(long step, Schedule next) {
    requireNonNull(next, "next");
    if (step < 0) {
      throw new IllegalArgumentException("step must be at least 0, got " + step);
    }
    return at -> at < step ? factor(at) : next.factor(at - step);
  }

  /**
   * Returns this schedule after a rise in equal parts.
   *
   * @param steps at least 1; this schedule begins after them. Step {@code s} of them has {@code (s
   *     + 1) / (steps + 1)} of this schedule's first factor
   * @return a schedule
   * @throws IllegalArgumentException if the number is below 1
   */
  default Schedule withWarmUp(long steps) {
    requirePositive("steps", steps);
    return linear(1.0 / (steps + 1), 1, steps).times(step -> factor(0)).then(steps, this);
  }

  /**
   * Returns the product of two schedules; as {@code ChainedScheduler}.
   *
   * @param other the other one
   * @return a schedule
   */
  default Schedule times(Schedule other) {
    requireNonNull(other, "other");
    return step -> factor(step) * other.factor(step);
  }

  private static double cosineBetween(double start, double end, double share) {
    return end + (start - end) * (1 + Math.cos(Math.PI * share)) / 2;
  }

  private static void requirePositive(String name, long value) {
    if (value < 1) {
      throw new IllegalArgumentException("%s must be at least 1, got %d".formatted(name, value));
    }
  }

  private static void requireFactor(String name, double value) {
    if (!(value >= 0) || Double.isInfinite(value)) {
      throw new IllegalArgumentException(
          "%s must be at least 0 and finite, got %s".formatted(name, value));
    }
  }

  private static void requireDivisor(String name, double value) {
    if (!(value >= 1) || Double.isInfinite(value)) {
      throw new IllegalArgumentException(
          "%s must be at least 1 and finite, got %s".formatted(name, value));
    }
  }
}
