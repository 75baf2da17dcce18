// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The results of a loop's evaluations, the same on all ranks: the last one, the best one, and how
 * many in a row were no better. Part of the loop's {@link Progress}.
 */
final class Evaluations {
  private static final String KIND = "metric";
  private static final long NONE = -1;

  private final EvaluationOptions options;
  private final double worst;
  private long step = NONE;
  private double last = Double.NaN;
  private double best;
  private long bad;

  Evaluations(EvaluationOptions options) {
    this.options = options;
    worst = options.isLoss ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
    best = worst;
  }

  /** Returns whether the model is to be evaluated after a number of steps within an epoch. */
  boolean isDueAfter(long steps) {
    long every = options.everySteps;
    return every != EvaluationOptions.EACH_EPOCH
        && steps > 0
        && steps % every == 0
        && steps != step;
  }

  /** Returns whether the model is to be evaluated at the end of an epoch. */
  boolean isDueAtEnd(long steps) {
    return options.everySteps == EvaluationOptions.EACH_EPOCH && steps != step;
  }

  /** Returns whether the model is to be evaluated where the training ends within an epoch. */
  boolean isDueAtLimit(long steps) {
    return steps != step;
  }

  /** Returns the last metric. */
  Metric metric() {
    return new Metric(last, options.isLoss);
  }

  /**
   * Takes the metric after a number of steps, and describes it.
   *
   * @param values of the ranks; the first one counts, and NaN of another is none
   */
  String take(long steps, double... values) {
    double metric = values[0];
    step = steps;
    last = metric;
    double before = best;
    boolean isBetter =
        options.isLoss ? metric < best - options.minDelta : metric > best + options.minDelta;
    if (isBetter) {
      best = metric;
      bad = 0;
    } else {
      bad++;
    }
    options.plateau().ifPresent(plateau -> plateau.report(metric));
    String result =
        isBetter
            ? "the best"
            : (Double.isNaN(metric) ? "not a number" : "no better than " + before)
                + ", %d in a row".formatted(bad);
    return "%s %s after %d steps, %s%s"
        .formatted(options.kind(), metric, steps, result, others(values));
  }

  private static String others(double... values) {
    StringBuilder text = new StringBuilder();
    for (int rank = 1; rank < values.length; rank++) {
      if (!Double.isNaN(values[rank]) && values[rank] != values[0]) {
        text.append("; rank %d has %s".formatted(rank, values[rank]));
      }
    }
    return text.toString();
  }

  /** Returns whether the training stops, since the metric is no longer getting better. */
  boolean isOver() {
    return options.patience != EvaluationOptions.NEVER && bad >= options.patience;
  }

  /** Returns why the training stops. */
  String whyOver() {
    return "the %s was no better than %s %d times in a row".formatted(options.kind(), best, bad);
  }

  /** Returns the metric of the state after a number of steps, if it was evaluated to a number. */
  Optional<Metric> metricAfter(long steps) {
    return steps == step && !Double.isNaN(last)
        ? Optional.of(new Metric(last, options.isLoss))
        : Optional.empty();
  }

  void write(JsonGenerator out) throws IOException {
    out.writeStartObject();
    out.writeStringField(KIND, options.kind());
    out.writeNumberField("step", step);
    out.writeStringField("last", Double.toString(last)); // these may be infinite, or NaN
    out.writeStringField("best", Double.toString(best));
    out.writeNumberField("bad", bad);
    if (options.plateau().isPresent()) {
      try (StateDict state = options.plateau().get().stateDict()) {
        out.writeFieldName("plateau");
        out.writeRawValue(state.json());
      }
    }
    out.writeEndObject();
  }

  /**
   * Continues from the state that {@link #write} has written.
   *
   * @param json null for a state of before the first evaluation
   * @throws IllegalArgumentException if it is of another kind of metric, or malformed
   */
  void load(@Nullable JsonObject json) {
    if (json == null) {
      step = NONE;
      last = Double.NaN;
      best = worst;
      bad = 0;
      return;
    }
    json.only(KIND, "step", "last", "best", "bad", "plateau");
    if (!json.text(KIND).equals(options.kind())) {
      throw new IllegalArgumentException(
          ("the checkpoint was evaluated by a %s, but this loop evaluates by a %s; evaluate as"
                  + " before, or to begin again, use another folder of checkpoints")
              .formatted(json.text(KIND), options.kind()));
    }
    double savedLast = Double.parseDouble(json.text("last"));
    double savedBest = Double.parseDouble(json.text("best"));
    long savedStep = json.number("step");
    long savedBad = Checks.requireAtLeastZero("bad", json.number("bad"));
    if (options.plateau().isPresent() && json.has("plateau")) {
      try (StateDict state = StateDict.of(json.object("plateau").toString(), Map.of())) {
        options.plateau().get().loadStateDict(state);
      }
    }
    step = savedStep;
    last = savedLast;
    best = savedBest;
    bad = savedBad;
  }
}
