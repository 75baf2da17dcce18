// SPDX-License-Identifier: Apache-2.0
#include "torch/reduce/weights.h"

#include <ATen/ATen.h>

#include <bit>
#include <cmath>
#include <string>

#include "torch/reduce/gradient_exchange.h"
#include "torchfeed/error.h"

namespace torchfeed::detail {
namespace {

// bfloat16 has 8 significant bits: a digit of 6 is still known when it has been divided.
constexpr int64_t kDigitBits = 6;
constexpr uint64_t kDigit = (uint64_t{1} << kDigitBits) - 1;
constexpr int64_t kDigits = (64 + kDigitBits - 1) / kDigitBits;

}  // namespace

int64_t weight_numbers(int64_t ranks) { return ranks * kDigits; }

void write_weight(const at::Tensor& numbers, int64_t rank, double weight) {
  const at::NoGradGuard no_grad;
  at::Tensor all = at::zeros({numbers.numel()}, at::kDouble);
  auto* digits = all.mutable_data_ptr<double>() + rank * kDigits;
  auto bits = std::bit_cast<uint64_t>(weight);
  for (int64_t i = 0; i < kDigits; ++i) {
    digits[i] = static_cast<double>(bits & kDigit);
    bits >>= kDigitBits;
  }
  numbers.copy_(all);
}

double sum_of_weights(const at::Tensor& numbers, int64_t divisor) {
  const at::Tensor all = numbers.to(at::kCPU, at::kDouble).contiguous();
  const auto* digits = all.const_data_ptr<double>();
  double sum = 0;
  for (int64_t first = 0; first < all.numel(); first += kDigits) {
    uint64_t bits = 0;
    for (int64_t i = kDigits; i-- > 0;) {
      const double digit = std::nearbyint(digits[first + i] * static_cast<double>(divisor));
      bits = (bits << kDigitBits) | static_cast<uint64_t>(digit);
    }
    sum += std::bit_cast<double>(bits);
  }
  return sum;
}

void check_weights(const ReducerOptions& options) {
  if (options.weighted_losses && options.exchange.kind > ExchangeOptions::kBFloat16) {
    throw Error(ErrorCode::kInvalidArgument,
                "weighted losses need the exchange allReduce, float16 or bfloat16, got " +
                    describe_exchange(options.exchange));
  }
}

void check_weighable(const ReducerOptions& options, const std::vector<NamedTensor>& parameters,
                     const std::vector<bool>& sparse) {
  bool is_weighable = !options.weighted_losses;
  for (size_t i = 0; i < parameters.size(); ++i) {
    is_weighable =
        is_weighable || (!sparse[i] && at::isFloatingType(parameters[i].tensor.scalar_type()));
  }
  if (!is_weighable) {
    throw Error(ErrorCode::kInvalidArgument,
                "weighted losses need a parameter with dense gradients of real numbers, behind "
                "which the weights are sent; parameter " +
                    parameters.front().name + " has others");
  }
}

}  // namespace torchfeed::detail
