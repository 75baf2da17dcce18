// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The tensors and options of an optimizer of libtorch, by the names of Python's optimizers.
 *
 * @param tensors the names of a parameter's tensors, in the order of the facade
 * @param options the names of the options of a group, in the order of the facade
 */
record OptimizerKind(List<String> tensors, List<String> options) {
  /** The options that are true or false. */
  static final Set<String> FLAGS = Set.of("nesterov", "amsgrad", "centered");

  static final String STEP = "step";

  /** Returns the kind by the name of libtorch's class. */
  static OptimizerKind of(String name) {
    return switch (name) {
      case "SGD" ->
          new OptimizerKind(
              List.of("momentum_buffer"),
              List.of("lr", "momentum", "dampening", "weight_decay", "nesterov"));
      case "Adam", "AdamW" ->
          new OptimizerKind(
              List.of(STEP, "exp_avg", "exp_avg_sq", "max_exp_avg_sq"),
              List.of("lr", "beta1", "beta2", "eps", "weight_decay", "amsgrad"));
      case "RMSprop" ->
          new OptimizerKind(
              List.of(STEP, "square_avg", "momentum_buffer", "grad_avg"),
              List.of("lr", "alpha", "eps", "weight_decay", "momentum", "centered"));
      case "Adagrad" ->
          new OptimizerKind(
              List.of(STEP, "sum"),
              List.of("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"));
      default -> throw new IllegalArgumentException("unknown optimizer " + name);
    };
  }

  /**
   * Returns the tensors that libtorch needs of a parameter after its first step.
   *
   * @param values the options of its group
   */
  List<String> required(double[] values) {
    List<String> required = new ArrayList<>();
    for (String tensor : tensors) {
      boolean isRequired =
          switch (tensor) {
            case "momentum_buffer" -> options.contains("centered") && isSet(values, "momentum");
            case "grad_avg" -> isSet(values, "centered");
            case "max_exp_avg_sq" -> isSet(values, "amsgrad");
            default -> true;
          };
      if (isRequired) {
        required.add(tensor);
      }
    }
    return required;
  }

  private boolean isSet(double[] values, String option) {
    return values[options.indexOf(option)] != 0;
  }
}
