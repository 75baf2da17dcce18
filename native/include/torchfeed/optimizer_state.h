// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/optim/optimizer.h>
#include <torch/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "torchfeed/export.h"

namespace torchfeed {

/// The tensors that an optimizer of libtorch keeps from one step to the next, and its options.
///
/// `kind` is the name of its class and decides the order of tensors and options:
///
/// - SGD: `momentum_buffer`; `lr`, `momentum`, `dampening`, `weight_decay`, `nesterov`
/// - Adam, AdamW: `step`, `exp_avg`, `exp_avg_sq`, `max_exp_avg_sq`; `lr`, both betas, `eps`,
///   `weight_decay`, `amsgrad`
/// - RMSprop: `step`, `square_avg`, `momentum_buffer`, `grad_avg`; `lr`, `alpha`, `eps`,
///   `weight_decay`, `momentum`, `centered`
/// - Adagrad: `step`, `sum`; `lr`, `lr_decay`, `weight_decay`, `initial_accumulator_value`, `eps`
///
/// `step` is a single int64; a flag is 0 or 1. Other optimizers are refused.
class TORCHFEED_API OptimizerState {
 public:
  [[nodiscard]] static std::string kind(const torch::optim::Optimizer& optimizer);
  /// Returns the tensors of a parameter: undefined tensors where the options need none; an empty
  /// list before the parameter's first step.
  [[nodiscard]] static std::vector<torch::Tensor> tensors(const torch::optim::Optimizer& optimizer,
                                                          const torch::Tensor& parameter);
  /// Replaces the tensors of a parameter.
  ///
  /// @param tensors  as from `tensors`; kept without a copy
  static void set_tensors(torch::optim::Optimizer& optimizer, const torch::Tensor& parameter,
                          const std::vector<torch::Tensor>& tensors);
  /// Writes the options of a group of parameters to `values`, which has a place for each.
  static void options(const torch::optim::Optimizer& optimizer, int64_t group, double* values);
  /// Sets the options of a group of parameters.
  static void set_options(torch::optim::Optimizer& optimizer, int64_t group, const double* values);

 private:
  OptimizerState() = default;  // all functions are static
};

}  // namespace torchfeed
