// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "torchfeed/export.h"

namespace torchfeed {

/// The factor by which a loss is multiplied so that gradients of half precision do not vanish.
///
/// Not thread-safe. Source: torch 2.10.0, `torch/amp/grad_scaler.py`.
class TORCHFEED_API LossScale {
 public:
  /// @param scale  the first factor
  /// @param growth_factor  by which the scale grows after `growth_interval` steps without overflow
  /// @param backoff_factor  by which the scale shrinks after an overflow
  [[nodiscard]] static std::unique_ptr<LossScale> create(double scale, double growth_factor,
                                                         double backoff_factor,
                                                         int64_t growth_interval);
  LossScale(const LossScale&) = delete;
  ~LossScale();

  /// Returns the loss times the scale, on the device of the loss.
  [[nodiscard]] torch::Tensor scaled(const torch::Tensor& loss) const;
  /// Divides the gradients of the parameters by the scale; parameters without gradient are skipped.
  ///
  /// @return whether all gradients were finite
  bool unscale(const std::vector<torch::Tensor>& parameters);
  /// Shrinks the scale after an overflow; else, counts a step, and grows the scale when due.
  void update(bool has_overflown);

  [[nodiscard]] double scale() const;
  /// Returns the number of steps without overflow since the scale last changed.
  [[nodiscard]] int64_t steps() const;
  /// Sets the scale and the number of steps.
  void restore(double scale, int64_t steps);

 private:
  LossScale(double scale, double growth_factor, double backoff_factor, int64_t growth_interval);

  torch::Tensor scale_;  // float32 on the CPU
  torch::Tensor steps_;  // int32 on the CPU
  double growth_factor_;
  double backoff_factor_;
  int64_t growth_interval_;
};

}  // namespace torchfeed
