// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <vector>

#include "torchfeed/export.h"

namespace torchfeed {

/// The gradients of parameters as one vector.
class TORCHFEED_API Gradients {
 public:
  /// Returns the 2-norm of the gradients, and scales them to a norm of at most `max_norm`; those
  /// whose norm is not finite remain as they are. On the CPU, the number depends on the gradients
  /// only, not on threads or the instructions of the processor. Source: torch 2.10.0,
  /// `torch.nn.utils.clip_grad_norm_`.
  ///
  /// @param parameters  those without a gradient count as 0, duplicates count once
  /// @param max_norm  above 0, also infinite
  [[nodiscard]] static double clip(const std::vector<torch::Tensor>& parameters, double max_norm);
  /// Divides the gradients by a number above 0.
  ///
  /// @param parameters  as above
  static void divide(const std::vector<torch::Tensor>& parameters, double divisor);
  /// Gives zeros to the parameters that require a gradient and have none.
  static void give_zeros(const std::vector<torch::Tensor>& parameters);
  /// Returns whether a parameter has a gradient.
  [[nodiscard]] static bool exist(const std::vector<torch::Tensor>& parameters);

 private:
  Gradients() = default;  // all functions are static
};

}  // namespace torchfeed
