// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/gradients.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <sstream>
#include <unordered_set>

#include "torch/base/guard.h"

namespace torchfeed {
namespace {

constexpr double kEpsilon = 1e-6;  // PyTorch's
constexpr int64_t kBlock = int64_t{1} << 14;

/// Returns the gradients of the parameters that have one, each once.
std::vector<at::Tensor> gradients_of(const std::vector<torch::Tensor>& parameters) {
  std::vector<at::Tensor> gradients;
  std::unordered_set<const c10::TensorImpl*> seen;
  for (const auto& parameter : parameters) {
    if (parameter.defined() && parameter.grad().defined() &&
        seen.insert(parameter.unsafeGetTensorImpl()).second) {
      gradients.push_back(parameter.grad());
    }
  }
  return gradients;
}

void scale(const std::vector<at::Tensor>& gradients, double factor) {
  std::vector<at::Tensor> values;
  values.reserve(gradients.size());
  for (const auto& gradient : gradients) {
    values.push_back(gradient.is_sparse() ? gradient._values() : gradient);
  }
  at::_foreach_mul_(values, factor);
}

/// The squares of floats are exact in double, and the order of their sums is fixed.
template <typename T>
double sum_of_squares(const T* values, int64_t count) {
  constexpr int64_t kLanes = 8;
  std::array<double, kLanes> sums{};
  const int64_t whole = count - count % kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<double>(values[i + lane]);
      sums[static_cast<size_t>(lane)] += value * value;
    }
  }
  for (int64_t i = whole; i < count; ++i) {
    const auto value = static_cast<double>(values[i]);
    sums[static_cast<size_t>(i - whole)] += value * value;
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

template <typename T>
double sum_in_blocks(const at::Tensor& numbers) {
  const auto* values = numbers.const_data_ptr<T>();
  const int64_t count = numbers.numel();
  std::vector<double> sums(static_cast<size_t>((count + kBlock - 1) / kBlock));
  at::parallel_for(
      0, static_cast<int64_t>(sums.size()), /*grain_size=*/8, [&](int64_t begin, int64_t end) {
        for (int64_t block = begin; block < end; ++block) {
          sums[static_cast<size_t>(block)] =
              sum_of_squares(values + block * kBlock, std::min(kBlock, count - block * kBlock));
        }
      });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

double sum_of_squares(const at::Tensor& gradient) {
  const at::Tensor values = gradient.is_sparse() ? gradient.coalesce()._values() : gradient;
  const at::Tensor real = values.is_complex() ? at::view_as_real(values) : values;
  if (!real.device().is_cpu()) {
    return at::norm(real, 2, at::kDouble).square().item<double>();
  }
  const at::Tensor numbers = real.is_non_overlapping_and_dense() ? real : real.contiguous();
  if (numbers.scalar_type() == at::kDouble) {
    return sum_in_blocks<double>(numbers);
  }
  return sum_in_blocks<float>(numbers.to(at::kFloat));
}

}  // namespace

double Gradients::clip(const std::vector<torch::Tensor>& parameters, double max_norm) {
  return guarded([&] {
    if (!(max_norm > 0)) {
      std::ostringstream message;
      message << "maxNorm must be above 0, got " << max_norm;
      throw Error(ErrorCode::kInvalidArgument, message.str());
    }
    const at::NoGradGuard no_grad;
    const auto gradients = gradients_of(parameters);
    double sum = 0;
    for (const auto& gradient : gradients) {
      sum += sum_of_squares(gradient);
    }
    const double norm = std::sqrt(sum);
    const double factor = max_norm / (norm + kEpsilon);
    if (std::isfinite(norm) && factor < 1) {
      scale(gradients, factor);
    }
    return norm;
  });
}

void Gradients::divide(const std::vector<torch::Tensor>& parameters, double divisor) {
  guarded([&] {
    const at::NoGradGuard no_grad;
    scale(gradients_of(parameters), 1 / divisor);
  });
}

void Gradients::give_zeros(const std::vector<torch::Tensor>& parameters) {
  guarded([&] {
    for (const auto& parameter : parameters) {
      if (parameter.requires_grad() && !parameter.grad().defined()) {
        parameter.mutable_grad() = at::zeros_like(parameter);
      }
    }
  });
}

bool Gradients::exist(const std::vector<torch::Tensor>& parameters) {
  return !gradients_of(parameters).empty();
}

}  // namespace torchfeed
