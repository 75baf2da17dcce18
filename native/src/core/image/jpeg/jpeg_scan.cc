// SPDX-License-Identifier: Apache-2.0
#include "core/image/jpeg/jpeg_scan.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "core/image/jpeg/jpeg_format.h"

namespace torchfeed {
namespace {

/// The bits of entropy-coded data. Behind the last, at a marker, come zeros that must not be used.
class BitReader {
 public:
  explicit BitReader(std::span<const uint8_t> data) : data_(data) {}

  uint32_t bits(int count) {
    if (count == 0) {
      return 0;
    }
    const uint32_t value = peek(count);
    drop(count);
    return value;
  }

  uint8_t symbol(const HuffmanDecoder* table) {
    if (table == nullptr) {
      throw UnsupportedJpeg();
    }
    const HuffmanDecoder::Code code = table->first_code(peek(kLongestCode));
    drop(code.bits);
    return code.symbol;
  }

  /// Reads a number of a category: of that many bits, where a leading 0 means a negative one.
  int number(int category) {
    const auto value = static_cast<int>(bits(category));
    return category > 0 && value < 1 << (category - 1) ? value - (1 << category) + 1 : value;
  }

  /// Skips the fill bits of the last byte and the restart marker of this number.
  void restart(int64_t number) {
    held_ = 0;
    count_ = 0;
    used_ = real_;
    while (at_ + 1 < data_.size() && data_[at_] == kMarker && data_[at_ + 1] == kMarker) {
      ++at_;
    }
    if (at_ + 1 >= data_.size() || data_[at_] != kMarker ||
        data_[at_ + 1] != kFirstRestart + number % 8) {
      throw UnsupportedJpeg();
    }
    at_ += 2;
  }

  [[nodiscard]] std::size_t position() const { return at_; }

 private:
  uint32_t peek(int count) {
    while (count_ < count) {
      uint8_t byte = 0;
      if (at_ < data_.size() && data_[at_] != kMarker) {
        byte = data_[at_++];
        real_ += 8;
      } else if (at_ + 1 < data_.size() && data_[at_ + 1] == 0) {
        byte = kMarker;
        at_ += 2;
        real_ += 8;
      }
      held_ = held_ << 8 | byte;
      count_ += 8;
    }
    return static_cast<uint32_t>(held_ >> (count_ - count)) & ((1U << count) - 1);
  }

  void drop(int count) {
    if (count > real_held()) {
      throw UnsupportedJpeg();
    }
    count_ -= count;
    used_ += count;
  }

  [[nodiscard]] int64_t real_held() const { return real_ - used_; }

  std::span<const uint8_t> data_;
  std::size_t at_ = 0;
  uint64_t held_ = 0;
  int count_ = 0;     // bits held, the zeros at a marker included
  int64_t real_ = 0;  // bits read from the data
  int64_t used_ = 0;  // of these
};

int16_t coefficient(int64_t value) {
  if (value < std::numeric_limits<int16_t>::min() || value > std::numeric_limits<int16_t>::max()) {
    throw UnsupportedJpeg();
  }
  return static_cast<int16_t>(value);
}

class ScanDecoder {
 public:
  ScanDecoder(const JpegScan& scan, std::span<const uint8_t> data) : scan_(scan), reader_(data) {
    predictions_.resize(scan.parts.size());
  }

  std::size_t run(const JpegCoefficients& image) {
    if (scan_.parts.size() == 1) {
      JpegComponent& component = *scan_.parts[0].component;
      for (int64_t y = 0; y < component.rows; ++y) {
        for (int64_t x = 0; x < component.columns; ++x) {
          begin_mcu();
          decode(0, component.block(x, y));
        }
      }
      return reader_.position();
    }
    for (int64_t y = 0; y < image.mcus_down; ++y) {
      for (int64_t x = 0; x < image.mcus_across; ++x) {
        begin_mcu();
        decode_mcu(x, y);
      }
    }
    return reader_.position();
  }

 private:
  void begin_mcu() {
    if (scan_.restart_interval > 0 && mcu_ > 0 && mcu_ % scan_.restart_interval == 0) {
      reader_.restart(mcu_ / scan_.restart_interval - 1);
      std::fill(predictions_.begin(), predictions_.end(), 0);
      blocks_to_skip_ = 0;
    }
    ++mcu_;
  }

  void decode_mcu(int64_t x, int64_t y) {
    for (std::size_t part = 0; part < scan_.parts.size(); ++part) {
      JpegComponent& component = *scan_.parts[part].component;
      for (int64_t v = 0; v < component.v; ++v) {
        for (int64_t h = 0; h < component.h; ++h) {
          decode(part, component.block(x * component.h + h, y * component.v + v));
        }
      }
    }
  }

  void decode(std::size_t part, JpegBlock& block) {
    if (scan_.first == 0) {
      decode_dc(part, block);
    }
    if (scan_.last == 0) {
      return;
    }
    if (!scan_.is_progressive) {
      decode_sequential(scan_.parts[part].ac, block);
    } else if (scan_.high == 0) {
      decode_ac(scan_.parts[part].ac, block);
    } else {
      refine_ac(scan_.parts[part].ac, block);
    }
  }

  void decode_dc(std::size_t part, JpegBlock& block) {
    if (scan_.high > 0) {
      block[0] = static_cast<int16_t>(block[0] | static_cast<int>(reader_.bits(1)) << scan_.low);
      return;
    }
    const int category = reader_.symbol(scan_.parts[part].dc);
    if (category > kMaxDcBits) {
      throw UnsupportedJpeg();
    }
    predictions_[part] += reader_.number(category);
    block[0] = coefficient(predictions_[part] * (int64_t{1} << scan_.low));
  }

  void decode_sequential(const HuffmanDecoder* table, JpegBlock& block) {
    std::fill(block.begin() + 1, block.end(), int16_t{0});
    for (std::size_t k = 1; k < kBlockSize; ++k) {
      const uint8_t symbol = reader_.symbol(table);
      const int category = symbol & 15;
      if (category == 0 && symbol != 0xf0) {
        return;
      }
      k += symbol >> 4;
      if (category > 0) {
        put(block, k, category);
      }
    }
  }

  void put(JpegBlock& block, std::size_t k, int category) {
    if (k > scan_.last || category > kMaxAcBits) {
      throw UnsupportedJpeg();
    }
    block[k] = coefficient(int64_t{reader_.number(category)} * (int64_t{1} << scan_.low));
  }

  void decode_ac(const HuffmanDecoder* table, JpegBlock& block) {
    if (blocks_to_skip_ > 0) {
      --blocks_to_skip_;
      return;
    }
    for (std::size_t k = scan_.first; k <= scan_.last; ++k) {
      const uint8_t symbol = reader_.symbol(table);
      const int run = symbol >> 4;
      if ((symbol & 15) > 0) {
        k += static_cast<std::size_t>(run);
        put(block, k, symbol & 15);
      } else if (run < 15) {
        blocks_to_skip_ = (int64_t{1} << run) - 1 + reader_.bits(run);
        return;
      } else {
        k += 15;
      }
    }
  }

  /// Reads the next bit of a coefficient that is not 0 yet.
  void refine(int16_t& value) {
    if (reader_.bits(1) != 0 && (std::abs(int{value}) >> scan_.low & 1) == 0) {
      value = coefficient(value + (value > 0 ? 1 : -1) * (int64_t{1} << scan_.low));
    }
  }

  void refine_ac(const HuffmanDecoder* table, JpegBlock& block) {
    std::size_t k = scan_.first;
    while (blocks_to_skip_ == 0 && k <= scan_.last) {
      const uint8_t symbol = reader_.symbol(table);
      int zeros = symbol >> 4;
      int new_value = 0;
      if ((symbol & 15) > 1) {
        throw UnsupportedJpeg();
      }
      if ((symbol & 15) == 1) {
        new_value = reader_.bits(1) != 0 ? 1 : -1;
      } else if (zeros < 15) {
        blocks_to_skip_ = (int64_t{1} << zeros) + reader_.bits(zeros);
        break;
      }
      for (; k <= scan_.last && (block[k] != 0 || zeros-- > 0); ++k) {
        if (block[k] != 0) {
          refine(block[k]);
        }
      }
      if (new_value != 0) {
        if (k > scan_.last) {
          throw UnsupportedJpeg();
        }
        block[k] = coefficient(new_value * (int64_t{1} << scan_.low));
      }
      ++k;
    }
    if (blocks_to_skip_ > 0) {
      for (; k <= scan_.last; ++k) {
        if (block[k] != 0) {
          refine(block[k]);
        }
      }
      --blocks_to_skip_;
    }
  }

  const JpegScan& scan_;
  BitReader reader_;
  std::vector<int64_t> predictions_;
  int64_t blocks_to_skip_ = 0;  // without new coefficients
  int64_t mcu_ = 0;
};

}  // namespace

HuffmanDecoder::HuffmanDecoder(std::span<const uint8_t> counts, std::span<const uint8_t> symbols)
    : symbols_(symbols.begin(), symbols.end()) {
  uint32_t code = 0;
  std::size_t first = 0;
  for (std::size_t bits = 1; bits <= kLongestCode; ++bits) {
    const uint32_t step = 1U << (kLongestCode - bits);
    begin_[bits] = code;
    first_[bits] = first;
    code += counts[bits - 1] * step;
    first += counts[bits - 1];
    end_[bits] = code;
  }
  if (code > 1U << kLongestCode || first != symbols.size()) {
    throw UnsupportedJpeg();
  }
}

HuffmanDecoder::Code HuffmanDecoder::first_code(uint32_t next_16_bits) const {
  for (std::size_t bits = 1; bits <= kLongestCode; ++bits) {
    if (next_16_bits < end_[bits]) {
      const std::size_t number = (next_16_bits - begin_[bits]) >> (kLongestCode - bits);
      return {static_cast<int>(bits), symbols_[first_[bits] + number]};
    }
  }
  throw UnsupportedJpeg();
}

std::size_t decode_scan(const JpegScan& scan, const JpegCoefficients& image,
                        std::span<const uint8_t> data) {
  return ScanDecoder(scan, data).run(image);
}

}  // namespace torchfeed
