// SPDX-License-Identifier: Apache-2.0
#include "core/rows/byte_values.h"

#include <algorithm>
#include <cstring>

#include "core/rows/byte_values_avx2.h"
#include "core/rows/byte_values_avx512.h"

namespace torchfeed {
namespace {

template <class Number>
void look_up(std::byte* target, const std::byte* source, std::size_t count,
             const ByteResults& results, Stores /*stores*/) {
  auto* const to = reinterpret_cast<Number*>(target);
  const auto* const table = reinterpret_cast<const Number*>(results.table.data());
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = table[static_cast<std::size_t>(source[i])];
  }
}

bool is_exact(const ByteKernel& kernel, const ByteResults& channel, std::size_t bytes) {
  std::array<std::byte, kByteValues> all{};
  for (std::size_t i = 0; i < kByteValues; ++i) {
    all[i] = static_cast<std::byte>(i);
  }
  std::array<std::byte, kByteValues * sizeof(float)> made{};
  kernel.convert(made.data(), all.data(), kByteValues, channel, Stores::kCached);
  return std::memcmp(made.data(), channel.table.data(), kByteValues * bytes) == 0;
}

}  // namespace

void ByteResults::set_halves(const std::array<uint16_t, kByteValues>& results) {
  std::memcpy(table.data(), results.data(), sizeof(results));
  for (std::size_t i = 0; i < kByteValues; ++i) {
    table[2 * kByteValues + i] = static_cast<std::byte>(results[i]);
    table[3 * kByteValues + i] = static_cast<std::byte>(results[i] >> 8);
  }
}

std::vector<ByteKernel> byte_kernels(Element result) {
  std::vector<ByteKernel> kernels;
#ifdef TORCHFEED_BYTE_VALUES_AVX2
  if (result != Element::kFloat32 && has_byte_permutes()) {
    kernels.push_back({"avx512", permute_bytes_avx512});
  }
  if (has_fused_conversions()) {
    kernels.push_back({"avx2", result == Element::kFloat32   ? compute_float32_avx2
                               : result == Element::kFloat16 ? compute_float16_avx2
                                                             : compute_bfloat16_avx2});
  }
#endif
  kernels.push_back({"table", result == Element::kFloat32 ? look_up<float> : look_up<uint16_t>});
  return kernels;
}

ByteConversion exact_kernel(Element result, const std::vector<ByteResults>& channels) {
  const std::size_t bytes = result == Element::kFloat32 ? sizeof(float) : sizeof(uint16_t);
  const std::vector<ByteKernel> kernels = byte_kernels(result);
  const auto exact = std::find_if(kernels.begin(), kernels.end() - 1, [&](const auto& kernel) {
    return std::all_of(channels.begin(), channels.end(), [&](const ByteResults& channel) {
      return is_exact(kernel, channel, bytes);
    });
  });
  return exact->convert;
}

}  // namespace torchfeed
