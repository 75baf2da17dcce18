// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/image/jpeg/jpeg_scan.h"

namespace torchfeed {

/// A Huffman table whose codes are looked up together with the numbers behind them, two at a time
/// if both are short.
class NumberTable {
 public:
  /// Codes of the DC coefficients have no run of zeros, and only one is looked up.
  enum class Kind { kDc, kAc };

  /// @param counts   the number of codes of 1 to 16 bits
  /// @param symbols  of the codes, in ascending order
  /// @throws UnsupportedJpeg  if there are more codes than fit
  NumberTable(Kind kind, std::span<const uint8_t> counts, std::span<const uint8_t> symbols);

  static constexpr int kBits = 11;
  static constexpr uint8_t kEndOfBlock = 128;  // the steps behind the last coefficient

  /// The beginning of the next `kBits` bits: one or two coefficients, each behind a number of
  /// zeros. If there is no second one, its value is 0 and `steps` does not count it. If the number
  /// behind the first code is too long, `bits` is 0, `steps` the length of the code, and `zeros`
  /// and `more_zeros` are the halves of its symbol; if the code itself is too long, all are 0.
  struct Entry {
    uint8_t bits = 0;
    uint8_t zeros = 0;
    uint8_t more_zeros = 0;
    uint8_t steps = 0;  // from the second coefficient to the next
    int16_t value = 0;
    int16_t more = 0;
  };

  [[nodiscard]] Entry operator[](uint64_t next_bits) const { return entries_[next_bits]; }

  /// Returns the bits of the first coefficient of an entry.
  [[nodiscard]] int first_bits(uint64_t next_bits) const { return first_bits_[next_bits]; }

  /// @throws UnsupportedJpeg  if no code begins so
  [[nodiscard]] HuffmanDecoder::Code code(uint32_t next_16_bits) const {
    return codes_.first_code(next_16_bits);
  }

 private:
  void fill(uint32_t code, int bits, uint8_t symbol, Kind kind);
  void pair();

  std::array<Entry, std::size_t{1} << kBits> entries_{};
  std::array<uint8_t, std::size_t{1} << kBits> first_bits_{};
  HuffmanDecoder codes_;
};

/// Decodes the MCUs of a sequential JPEG with Huffman codes of 8 bits and one scan, in order, into
/// the output of libjpeg's entropy decoder, in half of its time: the bytes that were stuffed are
/// removed beforehand, and most codes are looked up together with their numbers.
///
/// It decodes only data that are valid, and leaves all others to libjpeg and its messages.
class McuDecoder {
 public:
  using Block = int16_t[kBlockSize];  // coefficients in natural order

  /// One block of an MCU.
  struct Part {
    std::size_t component;
    const NumberTable* dc;
    const NumberTable* ac;
  };

  /// @param data  the bytes after the header of the scan, borrowed
  /// @param restart_interval  in MCUs; 0 if there are no restart markers
  /// @param window  how many bytes are prepared at once, if they are more than the longest MCU has
  McuDecoder(std::span<const uint8_t> data, std::vector<Part> parts, int64_t restart_interval,
             std::size_t window = kWindow);

  /// Decodes the next MCU into blocks of zeros.
  ///
  /// @param blocks  one for each part; null if the values are not wanted
  /// @return false if the data are not valid; then it must not be called again
  [[nodiscard]] bool decode(Block* const* blocks);

  /// Returns where the marker behind the data decoded so far is, in `data`. Data before it that
  /// were not decoded are skipped.
  [[nodiscard]] std::size_t marker();

  /// Returns the bytes of memory for prepared data.
  [[nodiscard]] std::size_t prepared_bytes() const { return segment_.size(); }

 private:
  class Bits;

  static constexpr std::size_t kWindow = std::size_t{1} << 14;

  void take_segment(std::size_t from);
  void prepare();
  bool restart();
  bool decode_parts(Block* const* blocks);
  template <bool kStores>
  bool decode_all(Block* const* blocks);

  const std::span<const uint8_t> data_;
  const std::vector<Part> parts_;
  const int64_t restart_interval_;
  std::array<int32_t, 4> predictions_{};  // of each component
  const std::size_t most_of_mcu_;         // bytes
  std::vector<uint8_t> segment_;          // part of the data, without stuffed bytes
  std::size_t segment_bytes_ = 0;         // of these; then come zeros
  std::size_t prepared_ = 0;              // where in the data the segment ends
  bool is_at_marker_ = false;             // or at the end
  int64_t mcu_ = 0;

  uint64_t held_ = 0;     // the next bits, the first one on top
  uint32_t count_ = 0;    // how many are held
  std::size_t next_ = 0;  // the byte behind those that are held in full
};

}  // namespace torchfeed
