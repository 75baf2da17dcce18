// SPDX-License-Identifier: Apache-2.0
#include "core/image/jpeg/mcu_decoder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/image/jpeg/jpeg_format.h"

namespace torchfeed {
namespace {

constexpr int32_t kMaxPrediction = 1 << 15;

/// Zeros behind a segment: more than the longest block has, and a load of the next bits.
constexpr std::size_t kPadding = kBlockSize * (kLongestCode + 15) / 8 + 2 * sizeof(uint64_t);

/// The natural position of each coefficient in zigzag order, and the last one's for those behind
/// it, which are refused once the block is decoded.
constexpr std::array<uint8_t, 256> natural_order() {
  std::array<uint8_t, 256> order = {
      0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,   //
      12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,  //
      35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,  //
      58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
  for (std::size_t i = kBlockSize; i < order.size(); ++i) {
    order[i] = kBlockSize - 1;
  }
  return order;
}

constexpr std::array<uint8_t, 256> kNatural = natural_order();

/// Returns the number of a category: a leading 0 means a negative one.
int32_t number(uint32_t bits, int category) {
  const auto value = static_cast<int32_t>(bits);
  return category > 0 && value < 1 << (category - 1) ? value - (1 << category) + 1 : value;
}

uint64_t big_endian(const uint8_t* bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof(word));
  return std::endian::native == std::endian::little ? __builtin_bswap64(word) : word;
}

}  // namespace

NumberTable::NumberTable(Kind kind, std::span<const uint8_t> counts,
                         std::span<const uint8_t> symbols)
    : codes_(counts, symbols) {
  uint32_t code = 0;
  std::size_t next = 0;
  for (int bits = 1; bits <= kBits; ++bits) {
    for (int i = 0; i < counts[static_cast<std::size_t>(bits - 1)]; ++i) {
      fill(code++ << (kBits - bits), bits, symbols[next++], kind);
    }
    code <<= 1;
  }
  if (kind == Kind::kAc) {
    pair();
  }
}

/// Fills in the entries that begin with a code.
void NumberTable::fill(uint32_t code, int bits, uint8_t symbol, Kind kind) {
  const int category = symbol & 15;
  const int all = bits + category;
  const uint32_t count = 1U << (kBits - bits);
  Entry entry;
  if (all > kBits) {
    entry.steps = static_cast<uint8_t>(bits);
    entry.zeros = symbol >> 4;
    entry.more_zeros = symbol & 15;
    std::fill_n(entries_.begin() + code, count, entry);
    return;
  }
  entry.bits = static_cast<uint8_t>(all);
  if (kind == Kind::kAc) {
    entry.zeros = symbol >> 4;
    entry.steps = category > 0 || symbol == kSixteenZeros ? 0 : kEndOfBlock;
  }
  for (uint32_t i = 0; i < count; ++i) {
    entry.value = static_cast<int16_t>(number(i >> (kBits - all), category));
    entries_[code + i] = entry;
  }
}

/// Adds a second coefficient, or the end of the block, where the bits behind the first hold it.
void NumberTable::pair() {
  const std::array<Entry, std::size_t{1} << kBits> single = entries_;
  for (std::size_t i = 0; i < single.size(); ++i) {
    Entry& entry = entries_[i];
    first_bits_[i] = entry.bits;
    if (entry.bits == 0 || entry.steps > 0) {
      continue;
    }
    const Entry& next = single[i << entry.bits & (single.size() - 1)];
    if (next.bits == 0 || entry.bits + next.bits > kBits) {
      continue;
    }
    entry.bits = static_cast<uint8_t>(entry.bits + next.bits);
    entry.more_zeros = next.zeros;
    entry.more = next.value;
    entry.steps = next.steps > 0 ? next.steps : 1;
  }
}

/// The state of a decoder while it decodes an MCU, in registers.
class McuDecoder::Bits {
 public:
  explicit Bits(const McuDecoder& decoder)
      : next_(decoder.segment_.data() + decoder.next_),
        held_(decoder.held_),
        count_(decoder.count_) {}

  void store(McuDecoder& decoder) const {
    decoder.next_ = static_cast<std::size_t>(next_ - decoder.segment_.data());
    decoder.held_ = held_;
    decoder.count_ = count_;
  }

  [[nodiscard]] bool are_in(const McuDecoder& decoder) const {
    const auto read = static_cast<std::size_t>(next_ - decoder.segment_.data());
    return 8 * read <= 8 * decoder.segment_bytes_ + count_;
  }

  int32_t dc_difference(const NumberTable& table) {
    fill();
    const NumberTable::Entry entry = table[peek(NumberTable::kBits)];
    if (entry.bits > 0) {
      drop(entry.bits);
      return entry.value;
    }
    return take_number(take_code(table, entry) & 15);
  }

  /// @return false if there are too many coefficients
  template <bool kStores>
  bool ac(const NumberTable& table, int16_t* block) {
    constexpr int kLooksPerFill = 56 / NumberTable::kBits;
    constexpr std::size_t kEnd = NumberTable::kEndOfBlock;
    static_assert(kLooksPerFill * NumberTable::kBits <= 56);
    std::size_t k = 1;
    while (k < kBlockSize) {
      fill();
      for (int i = 0; i < kLooksPerFill; ++i) {
        const uint64_t look = peek(NumberTable::kBits);
        const NumberTable::Entry entry = table[look];
        if (entry.bits == 0) {
          fill();
          k = take_long<kStores>(take_code(table, entry), block, k);
          break;
        }
        const std::size_t first = k + entry.zeros;
        const std::size_t second = first + 1 + entry.more_zeros;
        if constexpr (kStores) {
          block[kNatural[second]] =
              entry.more;  // 0, at the place of the first, if that is the last
          block[kNatural[first]] = entry.value;
        }
        k = second + entry.steps;
        if (k >= kBlockSize) {
          const bool is_full = first == kBlockSize - 1;  // the second belongs to the next block
          drop(is_full ? table.first_bits(look) : entry.bits);
          return is_full || (first < kBlockSize && (k == kBlockSize || k > kEnd));
        }
        drop(entry.bits);
      }
    }
    return k == kBlockSize || k > kEnd;
  }

 private:
  /// Fills up to at least 56 bits.
  void fill() {
    held_ |= big_endian(next_) >> count_;
    next_ += (63 - count_) >> 3;
    count_ |= 56;
  }
  [[nodiscard]] uint64_t peek(int bits) const { return held_ >> (64 - bits); }
  void drop(int bits) {
    held_ <<= bits;
    count_ -= static_cast<uint32_t>(bits);
  }
  int32_t take_number(int category) {
    if (category == 0) {
      return 0;
    }
    const auto bits = static_cast<uint32_t>(peek(category));
    drop(category);
    return number(bits, category);
  }
  /// Takes a code that is looked up alone; returns its symbol.
  int take_code(const NumberTable& table, const NumberTable::Entry& entry) {
    if (entry.steps > 0) {
      drop(entry.steps);
      return entry.zeros << 4 | entry.more_zeros;
    }
    const HuffmanDecoder::Code code = table.code(static_cast<uint32_t>(peek(kLongestCode)));
    drop(code.bits);
    return code.symbol;
  }

  /// Takes the number behind a code; returns the position of the next coefficient.
  template <bool kStores>
  std::size_t take_long(int symbol, int16_t* block, std::size_t k) {
    const int category = symbol & 15;
    if (category == 0 && symbol != kSixteenZeros) {
      return k + 1 + NumberTable::kEndOfBlock;
    }
    k += static_cast<std::size_t>(symbol >> 4);
    const int32_t value = take_number(category);
    if constexpr (kStores) {
      block[kNatural[k]] = static_cast<int16_t>(value);
    }
    return k + 1;
  }

  const uint8_t* next_;
  uint64_t held_;   // the next bits, the first one on top
  uint32_t count_;  // how many
};

McuDecoder::McuDecoder(std::span<const uint8_t> data, std::vector<Part> parts,
                       int64_t restart_interval, std::size_t window)
    : data_(data),
      parts_(std::move(parts)),
      restart_interval_(restart_interval),
      most_of_mcu_(parts_.size() * kPadding),
      segment_(std::min(std::max(window, 2 * most_of_mcu_), data.size()) + kPadding) {
  take_segment(0);
}

void McuDecoder::take_segment(std::size_t from) {
  segment_bytes_ = 0;
  prepared_ = from;
  is_at_marker_ = false;
  held_ = 0;
  count_ = 0;
  next_ = 0;
  prepare();
}

/// Copies data up to the next marker, or as many as there is room for behind those that were not
/// decoded yet, without the zeros that follow bytes of 255.
void McuDecoder::prepare() {
  const std::size_t kept = segment_bytes_ - next_;
  std::memmove(segment_.data(), segment_.data() + next_, kept);
  next_ = 0;
  uint8_t* target = segment_.data() + kept;
  uint8_t* const room = segment_.data() + segment_.size() - kPadding;
  const uint8_t* at = data_.data() + prepared_;
  const uint8_t* const end = data_.data() + data_.size();
  while (at < end && target < room) {
    const auto most = static_cast<std::size_t>(std::min(end - at, room - target));
    const auto* const found = static_cast<const uint8_t*>(std::memchr(at, kMarker, most));
    const auto bytes = found == nullptr ? most : static_cast<std::size_t>(found - at);
    std::memcpy(target, at, bytes);
    target += bytes;
    at += bytes;
    if (found == nullptr) {
      continue;
    }
    if (end - at < 2 || at[1] != 0) {
      is_at_marker_ = true;
      break;
    }
    *target++ = kMarker;
    at += 2;
  }
  is_at_marker_ = is_at_marker_ || at == end;
  prepared_ = static_cast<std::size_t>(at - data_.data());
  segment_bytes_ = static_cast<std::size_t>(target - segment_.data());
  std::memset(target, 0, kPadding);
}

std::size_t McuDecoder::marker() {
  while (!is_at_marker_) {
    next_ = segment_bytes_;
    prepare();
  }
  return prepared_;
}

bool McuDecoder::restart() {
  std::size_t at = marker();
  while (at + 2 < data_.size() && data_[at + 1] == kMarker) {
    ++at;
  }
  const int64_t number = mcu_ / restart_interval_ - 1;
  if (at + 1 >= data_.size() || data_[at] != kMarker ||
      data_[at + 1] != kFirstRestart + number % 8) {
    return false;
  }
  predictions_.fill(0);
  take_segment(at + 2);
  return true;
}

bool McuDecoder::decode(Block* const* blocks) {
  if (restart_interval_ > 0 && mcu_ > 0 && mcu_ % restart_interval_ == 0 && !restart()) {
    return false;
  }
  ++mcu_;
  if (!is_at_marker_ && segment_bytes_ - next_ < most_of_mcu_) {
    prepare();
  }
  try {
    return decode_parts(blocks);
  } catch (const UnsupportedJpeg&) {
    return false;
  }
}

template <bool kStores>
__attribute__((always_inline)) inline bool McuDecoder::decode_all(Block* const* blocks) {
  Bits bits(*this);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    int32_t& prediction = predictions_[part.component];
    prediction += bits.dc_difference(*part.dc);
    if (prediction < -kMaxPrediction || prediction >= kMaxPrediction) {
      return false;
    }
    int16_t* block = nullptr;
    if constexpr (kStores) {
      block = *blocks[i];
      block[0] = static_cast<int16_t>(prediction);
    }
    if (!bits.ac<kStores>(*part.ac, block) || !bits.are_in(*this)) {
      return false;
    }
  }
  bits.store(*this);
  return true;
}

bool McuDecoder::decode_parts(Block* const* blocks) {
  return blocks == nullptr ? decode_all<false>(blocks) : decode_all<true>(blocks);
}

}  // namespace torchfeed
