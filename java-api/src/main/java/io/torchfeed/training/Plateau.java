// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.checkpoint.Stateful;
import io.torchfeed.internal.JsonObject;
import java.util.Map;

/**
 * A schedule that falls when a metric has stopped getting better; as {@code ReduceLROnPlateau}.
 *
 * <pre>{@code
 * Plateau plateau = Plateau.ofLoss(PlateauOptions.defaults().withPatience(3));
 * LearningRate rate = LearningRate.perEpoch(optimizer, plateau);
 * rate.set(epoch);                               // before each epoch
 * plateau.report(loss(lastBatch).item_double()); // after it
 * }</pre>
 *
 * <p>Unlike other schedules it has a state, which is part of a {@link
 * io.torchfeed.checkpoint.TrainingState}. On several ranks, all report the same value: the mean
 * over the ranks, for example. Not thread-safe. Source: torch 2.10.0, {@code
 * torch.optim.lr_scheduler.ReduceLROnPlateau}.
 */
public final class Plateau implements Schedule, Stateful {
  private static final long VERSION = 1;
  private static final String KIND = "Plateau";

  private final boolean isLoss;
  private final PlateauOptions options;

  private double best;
  private double factor = 1;
  private long bad;
  private long cooling;

  private Plateau(boolean isLoss, PlateauOptions options) {
    this.isLoss = isLoss;
    this.options = requireNonNull(options, "options");
    best = isLoss ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
  }

  /**
   * Returns a schedule for a metric that is better if it is lower.
   *
   * @param options when and how far it falls
   * @return a schedule without reports
   */
  public static Plateau ofLoss(PlateauOptions options) {
    return new Plateau(true, options);
  }

  /**
   * Returns a schedule for a metric that is better if it is higher, as an accuracy.
   *
   * @param options when and how far it falls
   * @return a schedule without reports
   */
  public static Plateau ofScore(PlateauOptions options) {
    return new Plateau(false, options);
  }

  /**
   * Takes the next value of the metric, usually at the end of an epoch.
   *
   * @param metric the same on all ranks; NaN is worse than any other
   * @return whether the factor has fallen
   */
  public boolean report(double metric) {
    if (isBetter(metric)) {
      best = metric;
      bad = 0;
    } else {
      bad++;
    }
    if (cooling > 0) {
      cooling--;
      bad = 0;
    }
    if (bad <= options.patience) {
      return false;
    }
    bad = 0;
    cooling = options.cooldown;
    double before = factor;
    factor = Math.max(factor * options.gamma, options.lowest);
    return factor < before;
  }

  private boolean isBetter(double metric) {
    double part = options.threshold;
    return isLoss ? metric < best * (1 - part) : metric > best * (1 + part);
  }

  /**
   * Returns the present factor.
   *
   * @param step of no effect
   * @return in [0, 1]
   */
  @Override
  public double factor(long step) {
    return factor;
  }

  @Override
  public StateDict stateDict() {
    return StateDict.of(
        """
        {"version":%s,"kind":"%s","metric":"%s","best":"%s","factor":%s,"bad":%s,"cooling":%s}"""
            .formatted(VERSION, KIND, metric(), best, factor, bad, cooling),
        Map.of());
  }

  /**
   * Continues from the state of another schedule of the same kind of metric.
   *
   * @param state borrowed
   * @throws IllegalArgumentException if it is of another object or another kind of metric, or
   *     malformed
   */
  @Override
  public void loadStateDict(StateDict state) {
    requireNonNull(state, "state");
    JsonObject json = JsonObject.parse("state of a " + KIND, state.json());
    json.requireKind(KIND);
    json.only("version", "kind", "metric", "best", "factor", "bad", "cooling")
        .requireVersion(VERSION);
    state.requireFit(Map.of());
    if (!json.text("metric").equals(metric())) {
      throw new IllegalArgumentException(
          "the state of a Plateau must be of a %s, got one of a %s"
              .formatted(metric(), json.text("metric")));
    }
    double savedBest = Double.parseDouble(json.text("best")); // may be infinite
    double savedFactor = json.decimal("factor");
    long savedBad = json.number("bad");
    long savedCooling = json.number("cooling");
    if (!(savedFactor >= 0 && savedFactor <= 1) || savedBad < 0 || savedCooling < 0) {
      throw new IllegalArgumentException(
          "the state of a Plateau must have a factor in [0, 1] and counts of at least 0, got "
              + state.json());
    }
    best = savedBest;
    factor = savedFactor;
    bad = savedBad;
    cooling = savedCooling;
  }

  boolean isLoss() {
    return isLoss;
  }

  private String metric() {
    return isLoss ? "loss" : "score";
  }
}
