// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/min_max_code.h"

#include <ATen/ATen.h>

#include "core/min_max_code.h"
#include "torch/base/guard.h"

namespace torchfeed {
namespace {

void check_code(const at::Tensor& numbers, const at::Tensor& code) {
  if (numbers.scalar_type() != at::kFloat || !numbers.is_contiguous() ||
      code.scalar_type() != at::kByte || !code.is_contiguous() ||
      code.numel() != min_max_code_bytes(numbers.numel())) {
    throw Error(ErrorCode::kInvalidArgument,
                "numbers must be contiguous float32 and their code as buffer returns it");
  }
}

}  // namespace

torch::Tensor MinMaxCode::buffer(int64_t n) {
  return guarded([&] { return at::zeros({min_max_code_bytes(n)}, at::kByte); });
}

void MinMaxCode::encode(const torch::Tensor& numbers, const torch::Tensor& code) {
  guarded([&] {
    check_code(numbers, code);
    encode_min_max(numbers.const_data_ptr<float>(), numbers.numel(),
                   code.mutable_data_ptr<uint8_t>());
  });
}

void MinMaxCode::decode_onto(const torch::Tensor& code, const torch::Tensor& numbers) {
  guarded([&] {
    check_code(numbers, code);
    decode_min_max_onto(code.const_data_ptr<uint8_t>(), numbers.numel(),
                        numbers.mutable_data_ptr<float>());
  });
}

}  // namespace torchfeed
