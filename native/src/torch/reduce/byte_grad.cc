// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include "core/min_max_code.h"
#include "torch/reduce/gradient_exchange.h"

namespace torchfeed::detail {
namespace {

class ByteGrad : public GradientExchange {
 public:
  void run(ExchangeRanks& ranks, const GradientBucket& bucket) override {
    const at::Tensor numbers = bucket.flat.to(at::kFloat);
    average_in_bytes(ranks, numbers);
    bucket.flat.copy_(numbers);
  }
};

/// @param padded  the number of values with zeros at their end, a multiple of `ranks.size()`
void average_chunks(ExchangeRanks& ranks, const at::Tensor& numbers, int64_t padded) {
  const int64_t count = padded / ranks.size();
  const int64_t bytes = min_max_code_bytes(count);
  // One chunk for each rank; Bagua, too, lets the padding of the last one widen its range.
  const at::Tensor chunks = at::constant_pad_nd(numbers, {0, padded - numbers.numel()});
  auto* chunk = chunks.mutable_data_ptr<float>();
  const at::Tensor codes = at::empty({ranks.size(), bytes}, at::kByte);
  auto* code = codes.mutable_data_ptr<uint8_t>();
  for (int64_t rank = 0; rank < ranks.size(); ++rank) {
    encode_min_max(chunk + rank * count, count, code + rank * bytes);
  }
  const at::Tensor received = at::empty_like(codes);
  ranks.all_to_all(received, codes);

  const at::Tensor mean = at::zeros({count}, at::kFloat);
  for (int64_t rank = 0; rank < ranks.size(); ++rank) {
    decode_min_max_onto(received.const_data_ptr<uint8_t>() + rank * bytes, count,
                        mean.mutable_data_ptr<float>());
  }
  mean.div_(ranks.size());
  const at::Tensor own = at::empty({bytes}, at::kByte);
  encode_min_max(mean.const_data_ptr<float>(), count, own.mutable_data_ptr<uint8_t>());
  ranks.all_gather(codes, own);
  for (int64_t rank = 0; rank < ranks.size(); ++rank) {
    decode_min_max(code + rank * bytes, count, chunk + rank * count);
  }
  numbers.copy_(chunks.narrow(0, 0, numbers.numel()));
}

}  // namespace

void average_in_bytes(ExchangeRanks& ranks, const at::Tensor& numbers) {
  const int64_t padded = (numbers.numel() + ranks.size() - 1) / ranks.size() * ranks.size();
  average_by_nodes(ranks, numbers, [&](ExchangeRanks& nodes, const at::Tensor& node_mean) {
    average_chunks(nodes, node_mean, padded);
  });
}

std::unique_ptr<GradientExchange> make_byte_grad() { return std::make_unique<ByteGrad>(); }

}  // namespace torchfeed::detail
