// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/loss_scale.h"

#include <ATen/ATen.h>

#include <cmath>
#include <sstream>
#include <utility>

#include "torch/base/guard.h"

namespace torchfeed {
namespace {

at::Tensor number(double scale) {
  const auto stored = static_cast<float>(scale);
  if (!std::isfinite(stored) || stored < 0) {
    std::ostringstream message;
    message << "scale must be a finite float and not negative, got " << scale;
    throw Error(ErrorCode::kInvalidArgument, message.str());
  }
  return at::full({}, stored, at::kFloat);
}

/// Returns the values of the gradient, all of them of a sparse one.
at::Tensor values_of(const at::Tensor& parameter) {
  const at::Tensor& gradient = parameter.grad();
  if (gradient.scalar_type() == at::kHalf) {
    throw Error(ErrorCode::kInvalidArgument,
                "gradients of float16 cannot be unscaled: keep the parameters in float32, and let "
                "autocast convert its operands");
  }
  return gradient.is_sparse() ? gradient._values() : gradient;
}

}  // namespace

LossScale::LossScale(double scale, double growth_factor, double backoff_factor,
                     int64_t growth_interval)
    : scale_(number(scale)),
      steps_(at::zeros({}, at::kInt)),
      growth_factor_(growth_factor),
      backoff_factor_(backoff_factor),
      growth_interval_(growth_interval) {}

LossScale::~LossScale() = default;

std::unique_ptr<LossScale> LossScale::create(double scale, double growth_factor,
                                             double backoff_factor, int64_t growth_interval) {
  return guarded([&] {
    return std::unique_ptr<LossScale>(
        new LossScale(scale, growth_factor, backoff_factor, growth_interval));
  });
}

torch::Tensor LossScale::scaled(const torch::Tensor& loss) const {
  return guarded([&] { return loss * scale_.to(loss.device(), /*non_blocking=*/true); });
}

bool LossScale::unscale(const std::vector<torch::Tensor>& parameters) {
  return guarded([&] {
    const at::NoGradGuard no_grad;
    const at::Tensor inverse = scale_.to(at::kDouble).reciprocal().to(at::kFloat);
    // The kernel takes lists of one device and dtype.
    using Key = std::pair<c10::Device, at::ScalarType>;
    std::vector<std::pair<Key, std::vector<at::Tensor>>> lists;
    for (const auto& parameter : parameters) {
      if (!parameter.grad().defined()) {
        continue;
      }
      at::Tensor values = values_of(parameter);
      const Key key(values.device(), values.scalar_type());
      auto list = lists.begin();
      while (list != lists.end() && list->first != key) {
        ++list;
      }
      if (list == lists.end()) {
        list = lists.insert(list, {key, {}});
      }
      list->second.push_back(std::move(values));
    }
    std::vector<at::Tensor> overflows;
    for (const auto& [key, gradients] : lists) {
      at::Tensor overflow = at::zeros({1}, at::TensorOptions(at::kFloat).device(key.first));
      at::_amp_foreach_non_finite_check_and_unscale_(gradients, overflow, inverse.to(key.first));
      overflows.push_back(std::move(overflow));
    }
    if (overflows.empty()) {
      throw Error(ErrorCode::kIllegalState, "no parameter of the optimizer has a gradient");
    }
    bool is_finite = true;
    for (const auto& overflow : overflows) {
      is_finite = overflow.item<float>() == 0 && is_finite;
    }
    return is_finite;
  });
}

void LossScale::update(bool has_overflown) {
  guarded([&] {
    at::_amp_update_scale_(scale_, steps_, at::full({1}, has_overflown ? 1 : 0, at::kFloat),
                           growth_factor_, backoff_factor_, growth_interval_);
  });
}

double LossScale::scale() const { return scale_.item<float>(); }

int64_t LossScale::steps() const { return steps_.item<int32_t>(); }

void LossScale::restore(double scale, int64_t steps) {
  guarded([&] {
    scale_ = number(scale);
    steps_.fill_(steps);
  });
}

}  // namespace torchfeed
