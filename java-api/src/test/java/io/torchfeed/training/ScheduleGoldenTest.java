// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.torchfeed.checkpoint.StateDict;
import io.torchfeed.testing.GoldenLine;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.bytedeco.pytorch.OptimizerParamGroup;
import org.bytedeco.pytorch.OptimizerParamGroupVector;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares with the rates of PyTorch's schedules; see golden/python_schedules.py. */
class ScheduleGoldenTest {
  private static final int LINES = 38;
  private static final double FIRST = 0.4;
  private static final double SECOND = 0.1;

  /** Python computes each rate from the one before, which rounds 60 times. */
  private static final double ROUNDING = 1e-13;

  private static final List<String> FILE = GoldenLine.read("python_schedules.txt");

  @Test
  void theHeaderNamesProgramVersionAndNumberOfLines() {
    assertThat(FILE.get(0)).startsWith("# program ").contains("2.10.0").endsWith("lines " + LINES);
    assertThat(FILE).hasSize(1 + LINES);
  }

  static Stream<GoldenLine> lines() {
    return FILE.stream().skip(1).map(GoldenLine::parse);
  }

  @ParameterizedTest
  @MethodSource("lines")
  void theRatesAreThoseOfPyTorch(GoldenLine line) {
    Schedule schedule = schedule(line);
    double[] metrics = line.has("metrics") ? reals(line, "metrics") : new double[0];
    double[] first = reals(line, "rates");
    double[] second = reals(line, "second");
    try (SGD optimizer = optimizer()) {
      LearningRate rate = LearningRate.perStep(optimizer, schedule);
      for (int step = 0; step < first.length; step++) {
        rate.set(step);
        assertThat(rate.rate()).as("step %d", step).isCloseTo(first[step], within(ROUNDING));
        assertThat(rates(optimizer)[1])
            .as("step %d", step)
            .isCloseTo(second[step], within(ROUNDING));
        if (schedule instanceof Plateau plateau) {
          schedule = report(line, plateau, metrics[step]);
          rate = resumed(optimizer, schedule);
        }
      }
    }
  }

  /** Reports a metric, and continues with another object that has the state. */
  private static Plateau report(GoldenLine line, Plateau plateau, double metric) {
    double before = plateau.factor(0);
    assertThat(plateau.report(metric)).isEqualTo(plateau.factor(0) < before);
    Plateau next = (Plateau) schedule(line);
    try (StateDict state = plateau.stateDict()) {
      next.loadStateDict(state);
    }
    return next;
  }

  private static LearningRate resumed(SGD optimizer, Schedule schedule) {
    OptimizerParamGroupVector groups = optimizer.param_groups();
    groups.get(0).options().set_lr(FIRST);
    groups.get(1).options().set_lr(SECOND);
    return LearningRate.perStep(optimizer, schedule);
  }

  private static Schedule schedule(GoldenLine line) {
    return switch (line.name()) {
      case "linear" ->
          Schedule.linear(real(line, "start"), real(line, "end"), line.number("steps"));
      case "cosine" -> Schedule.cosine(line.number("steps"));
      case "steps" -> Schedule.steps(line.number("size"), real(line, "gamma"));
      case "milestones" ->
          Schedule.milestones(
              real(line, "gamma"),
              Arrays.stream(line.text("at").split(",")).mapToLong(Long::parseLong).toArray());
      case "exponential" -> Schedule.exponential(real(line, "gamma"));
      case "polynomial" -> Schedule.polynomial(line.number("steps"), real(line, "power"));
      case "oneCycle" ->
          Schedule.oneCycle(
              line.number("steps"), real(line, "rising"), real(line, "start"), real(line, "end"));
      case "lambda" -> step -> 1 / Math.sqrt(1.0 + step);
      case "warmUp" -> Schedule.cosine(line.number("steps")).withWarmUp(line.number("warm"));
      case "then" ->
          Schedule.constant().then(10, Schedule.exponential(0.9)).then(30, Schedule.steps(4, 0.5));
      case "times" -> Schedule.linear(0.2, 1, 12).times(Schedule.exponential(0.97));
      case "plateau" ->
          line.text("mode").equals("min")
              ? Plateau.ofLoss(options(line))
              : Plateau.ofScore(options(line));
      default -> throw new IllegalArgumentException(line.line());
    };
  }

  private static PlateauOptions options(GoldenLine line) {
    return PlateauOptions.defaults()
        .withGamma(real(line, "gamma"))
        .withPatience(line.integer("patience"))
        .withThreshold(real(line, "threshold"))
        .withCooldown(line.integer("cooldown"))
        .withLowest(real(line, "lowest"));
  }

  private static double real(GoldenLine line, String key) {
    return Double.parseDouble(line.text(key));
  }

  private static double[] reals(GoldenLine line, String key) {
    return Arrays.stream(line.text(key).split(",", -1))
        .map(text -> text.equals("nan") ? "NaN" : text.replace("inf", "Infinity"))
        .mapToDouble(Double::parseDouble)
        .toArray();
  }

  private static double[] rates(SGD optimizer) {
    OptimizerParamGroupVector groups = optimizer.param_groups();
    return new double[] {groups.get(0).options().get_lr(), groups.get(1).options().get_lr()};
  }

  private static SGD optimizer() {
    SGD optimizer = new SGD(parameter(), new SGDOptions(FIRST));
    optimizer.add_param_group(new OptimizerParamGroup(parameter()));
    optimizer.param_groups().get(1).options().set_lr(SECOND);
    return optimizer;
  }

  private static TensorVector parameter() {
    return new TensorVector(torch.zeros(1).set_requires_grad(true));
  }
}
