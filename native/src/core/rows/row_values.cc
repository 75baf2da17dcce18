// SPDX-License-Identifier: Apache-2.0
#include "core/rows/row_values.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "core/rows/byte_values_avx2.h"
#include "core/rows/half_floats.h"
#include "core/simd_level.h"

// A loop is written once and compiled twice, without and with AVX2; both give the same bits.
#define TORCHFEED_LOOP [[gnu::always_inline]] inline
#ifdef __x86_64__
#define TORCHFEED_AVX2 [[gnu::target("avx2")]]
#endif

namespace torchfeed {
namespace {

using Terms = RowValues::Terms;

// Of 1 KB each, and all are in use.
constexpr std::size_t kMostTables = 64;
// Numbers that are rounded at once: those before stay in the caches.
constexpr std::size_t kRoundedAtOnce = 1024;

/// The computation with a float32.
enum class Arithmetic { kNone, kFactor, kScale, kBoth };

template <class Source, class Result, Arithmetic kArithmetic>
TORCHFEED_LOOP void convert_all(std::byte* target, const std::byte* source, std::size_t count,
                                const Terms& terms) {
  auto* const to = reinterpret_cast<Result*>(target);
  const auto* const from = reinterpret_cast<const Source*>(source);
  const Terms used = terms;
  for (std::size_t i = 0; i < count; ++i) {
    auto number = static_cast<Result>(from[i]);
    if constexpr (kArithmetic == Arithmetic::kFactor || kArithmetic == Arithmetic::kBoth) {
      number = number * used.factor;
    }
    if constexpr (kArithmetic == Arithmetic::kScale || kArithmetic == Arithmetic::kBoth) {
      number = (number - used.scale.mean) / used.scale.std;
    }
    to[i] = number;
  }
}

template <class Source, class Result, Arithmetic kArithmetic>
void convert_plainly(std::byte* target, const std::byte* source, std::size_t count,
                     const Terms& terms) {
  convert_all<Source, Result, kArithmetic>(target, source, count, terms);
}

#ifdef TORCHFEED_AVX2
template <class Source, class Result, Arithmetic kArithmetic>
TORCHFEED_AVX2 void convert_avx2(std::byte* target, const std::byte* source, std::size_t count,
                                 const Terms& terms) {
  convert_all<Source, Result, kArithmetic>(target, source, count, terms);
}
#endif

template <class Source, class Result, Arithmetic kArithmetic>
RowValues::Conversion chosen() {
#ifdef TORCHFEED_AVX2
  if (simd_level() >= SimdLevel::kAvx2 && __builtin_cpu_supports("avx2") != 0) {
    return convert_avx2<Source, Result, kArithmetic>;
  }
#endif
  return convert_plainly<Source, Result, kArithmetic>;
}

template <class Element>
void copy(std::byte* target, const std::byte* source, std::size_t count, const Terms& /*terms*/) {
  std::memcpy(target, source, count * sizeof(Element));
}

template <class Source>
RowValues::Conversion arithmetic_of(const RowRecipe& recipe) {
  if (recipe.channels.empty()) {
    return chosen<Source, float, Arithmetic::kFactor>();
  }
  return recipe.factor ? chosen<Source, float, Arithmetic::kBoth>()
                       : chosen<Source, float, Arithmetic::kScale>();
}

template <class Source>
RowValues::Conversion conversion_from(const RowRecipe& recipe, Element result) {
  if (recipe.makes_floats()) {
    return arithmetic_of<Source>(recipe);
  }
  if (recipe.cast) {
    switch (result) {
      case Element::kFloat32:
      case Element::kFloat16:
      case Element::kBFloat16:
        return chosen<Source, float, Arithmetic::kNone>();
      case Element::kFloat64:
        return chosen<Source, double, Arithmetic::kNone>();
      default:
        if constexpr (std::is_integral_v<Source>) {
          return chosen<Source, int64_t, Arithmetic::kNone>();
        }
    }
  }
  return copy<Source>;
}

/// Calls `body` with a number of the type of an element.
template <class Body>
auto with_type(Element element, const Body& body) {
  switch (element) {
    case Element::kUint8:
      return body(uint8_t{});
    case Element::kInt8:
      return body(int8_t{});
    case Element::kInt16:
      return body(int16_t{});
    case Element::kUint16:
      return body(uint16_t{});
    case Element::kInt32:
      return body(int32_t{});
    case Element::kUint32:
      return body(uint32_t{});
    case Element::kInt64:
      return body(int64_t{});
    case Element::kFloat64:
      return body(double{});
    default:
      return body(float{});
  }
}

std::size_t bytes_of(Element element) {
  if (is_half(element)) {
    return sizeof(uint16_t);
  }
  return with_type(element, [](auto number) { return sizeof(number); });
}

template <uint16_t (*kRound)(float)>
void round_plainly(uint16_t* target, const float* source, std::size_t count) {
  std::transform(source, source + count, target, kRound);
}

}  // namespace

RowValues::RowValues(const RowRecipe& recipe, int64_t source, int64_t result)
    : source_bytes_(bytes_of(static_cast<Element>(source))),
      result_bytes_(bytes_of(static_cast<Element>(result))),
      conversion_(with_type(static_cast<Element>(source),
                            [&](auto number) {
                              return conversion_from<decltype(number)>(
                                  recipe, static_cast<Element>(result));
                            })),
      rounding_(rounding_to(static_cast<Element>(result))) {
  const float factor = recipe.factor.value_or(1);
  for (const ElementScale& channel : recipe.channels) {
    terms_.push_back({factor, channel});
  }
  if (terms_.empty()) {
    terms_.push_back({factor, {0, 1}});
  }
  const auto type = static_cast<Element>(result);
  if (source_bytes_ == 1 && (type == Element::kFloat32 || is_half(type)) &&
      terms_.size() <= kMostTables) {
    tabulate(type);
  }
}

RowValues::Rounding RowValues::rounding_to(Element result) {
  switch (result) {
    case Element::kFloat16:
#ifdef TORCHFEED_BYTE_VALUES_AVX2
      return has_fused_conversions() ? round_to_float16_avx2 : round_plainly<float16_of>;
#else
      return round_plainly<float16_of>;
#endif
    case Element::kBFloat16:
      return round_plainly<bfloat16_of>;
    default:
      return nullptr;
  }
}

void RowValues::compute(std::byte* target, const std::byte* source, std::size_t count,
                        std::size_t channel) const {
  if (rounding_ == nullptr) {
    return conversion_(target, source, count, terms_[channel]);
  }
  std::array<float, kRoundedAtOnce> numbers;
  auto* const to = reinterpret_cast<uint16_t*>(target);
  for (std::size_t done = 0; done < count; done += kRoundedAtOnce) {
    const std::size_t here = std::min(kRoundedAtOnce, count - done);
    conversion_(reinterpret_cast<std::byte*>(numbers.data()), source + done * source_bytes_, here,
                terms_[channel]);
    rounding_(to + done, numbers.data(), here);
  }
}

void RowValues::tabulate(Element result) {
  std::array<std::byte, kByteValues> all{};
  for (std::size_t i = 0; i < kByteValues; ++i) {
    all[i] = static_cast<std::byte>(i);
  }
  byte_results_.resize(terms_.size());
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    ByteResults& made = byte_results_[i];
    made.factor = terms_[i].factor;
    made.scale = terms_[i].scale;
    made.reciprocal = 1 / terms_[i].scale.std;
    if (result == Element::kFloat32) {
      compute(made.table.data(), all.data(), kByteValues, i);
    } else {
      std::array<uint16_t, kByteValues> halves{};
      compute(reinterpret_cast<std::byte*>(halves.data()), all.data(), kByteValues, i);
      made.set_halves(halves);
    }
  }
  of_bytes_ = exact_kernel(result, byte_results_);
}

}  // namespace torchfeed
