// SPDX-License-Identifier: Apache-2.0
#include "core/image/store/jpeg_tiles.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <initializer_list>

#include "core/image/jpeg/huffman_encoder.h"
#include "core/image/jpeg/jpeg_coefficients.h"
#include "core/image/jpeg/jpeg_format.h"

namespace torchfeed {
namespace {

constexpr int64_t kFewestMcus = 4;  // of a tile: fewer cost more in markers than they save
constexpr int64_t kMostMcus = 8;
constexpr uint8_t kEndOfBlock = 0;
constexpr uint8_t kEndOfImage = 0xd9;

/// Returns the largest divisor of the MCUs of a row from 4 to 8, or else the smallest above.
int64_t mcus_of_tile(int64_t across) {
  for (int64_t mcus = kMostMcus; mcus >= kFewestMcus; --mcus) {
    if (across % mcus == 0) {
      return mcus;
    }
  }
  int64_t mcus = kMostMcus;
  while (mcus < across && across % mcus != 0) {
    ++mcus;
  }
  return std::min(mcus, across);
}

/// Components with the same quantisation as the first share its Huffman tables.
std::size_t tables_of(const JpegCoefficients& image, const JpegComponent& component) {
  return component.quantisation == image.components[0].quantisation ? 0 : 1;
}

/// The frequencies of the symbols, for tables that are not chosen yet.
class SymbolCounter {
 public:
  void dc(std::size_t table, uint8_t symbol, uint32_t, int) { ++counts_[0][table][symbol]; }
  void ac(std::size_t table, uint8_t symbol, uint32_t, int) { ++counts_[1][table][symbol]; }
  void end_tile() {}

  [[nodiscard]] HuffmanEncoder table(std::size_t kind, std::size_t number) const {
    return optimal_huffman(counts_[kind][number]);
  }

 private:
  std::array<std::array<std::array<uint64_t, 256>, 2>, 2> counts_{};
};

using HuffmanTables = std::array<std::array<HuffmanEncoder, 2>, 2>;  // for DC, for AC

/// The entropy-coded data.
class TileWriter {
 public:
  TileWriter(const HuffmanTables& tables, TiledJpeg& into) : tables_(tables), into_(into) {}

  void dc(std::size_t table, uint8_t symbol, uint32_t bits, int count) {
    put(tables_[0][table].codes[symbol], bits, count);
  }
  void ac(std::size_t table, uint8_t symbol, uint32_t bits, int count) {
    put(tables_[1][table].codes[symbol], bits, count);
  }

  void end_tile() {
    if (count_ > 0) {
      append(0xff, 8 - count_);  // ones
    }
    const auto number = static_cast<int64_t>(into_.tile_bytes.size());
    into_.tiles.resize(into_.tiles.size() + 2);
    const std::span<uint8_t> tile = std::span(into_.tiles).subspan(begin_);
    torchfeed::end_tile(tile, number, number + 1 == into_.layout.tiles());
    into_.tile_bytes.push_back(static_cast<uint32_t>(tile.size()));
    begin_ = into_.tiles.size();
  }

 private:
  void put(const HuffmanEncoder::Code& code, uint32_t bits, int count) {
    append(code.value, code.bits);
    append(bits, count);
  }

  void append(uint32_t bits, int count) {
    held_ = held_ << count | (bits & ((1U << count) - 1));
    count_ += count;
    while (count_ >= 8) {
      count_ -= 8;
      const auto byte = static_cast<uint8_t>(held_ >> count_);
      into_.tiles.push_back(byte);
      if (byte == 0xff) {
        into_.tiles.push_back(0);
      }
    }
  }

  const HuffmanTables& tables_;
  TiledJpeg& into_;
  std::size_t begin_ = 0;  // of the tile
  uint64_t held_ = 0;
  int count_ = 0;  // bits held
};

/// Walks through the blocks of an image in the order of a scan.
class Encoder {
 public:
  Encoder(const JpegCoefficients& image, int64_t tile_mcus)
      : image_(image), tile_mcus_(tile_mcus), predictions_(image.components.size()) {}

  /// @return false if a coefficient is too large for a baseline JPEG
  template <typename Sink>
  bool run(Sink& sink) {
    is_valid_ = true;
    const bool is_single = image_.components.size() == 1;
    const int64_t across = is_single ? image_.components[0].columns : image_.mcus_across;
    const int64_t down = is_single ? image_.components[0].rows : image_.mcus_down;
    for (int64_t y = 0; y < down; ++y) {
      for (int64_t x = 0; x < across; ++x) {
        if (x % tile_mcus_ == 0) {
          std::fill(predictions_.begin(), predictions_.end(), 0);
        }
        if (is_single) {
          put_block(0, x, y, sink);
        } else {
          put_mcu(x, y, sink);
        }
        if ((x + 1) % tile_mcus_ == 0) {
          sink.end_tile();
        }
      }
    }
    return is_valid_;
  }

 private:
  template <typename Sink>
  void put_mcu(int64_t x, int64_t y, Sink& sink) {
    for (std::size_t c = 0; c < image_.components.size(); ++c) {
      const JpegComponent& component = image_.components[c];
      for (int64_t v = 0; v < component.v; ++v) {
        for (int64_t h = 0; h < component.h; ++h) {
          put_block(c, x * component.h + h, y * component.v + v, sink);
        }
      }
    }
  }

  template <typename Sink>
  void put_block(std::size_t number, int64_t x, int64_t y, Sink& sink) {
    const JpegComponent& component = image_.components[number];
    const std::size_t table = tables_of(image_, component);
    // Blocks that complete an MCU are not shown: the shortest.
    const bool is_shown = x < component.columns && y < component.rows;
    const int dc = is_shown ? component.block(x, y)[0] : predictions_[number];
    const int difference = dc - predictions_[number];
    predictions_[number] = dc;
    const int category = category_of(difference);
    is_valid_ = is_valid_ && category <= kMaxDcBits;
    sink.dc(table, static_cast<uint8_t>(category), bits_of(difference), category);
    if (is_shown) {
      put_ac(component.block(x, y), table, sink);
    } else {
      sink.ac(table, kEndOfBlock, 0, 0);
    }
  }

  template <typename Sink>
  void put_ac(const JpegBlock& block, std::size_t table, Sink& sink) {
    int zeros = 0;
    for (std::size_t k = 1; k < kBlockSize; ++k) {
      const int value = block[k];
      if (value == 0) {
        ++zeros;
        continue;
      }
      for (; zeros > 15; zeros -= 16) {
        sink.ac(table, kSixteenZeros, 0, 0);
      }
      const int category = category_of(value);
      is_valid_ = is_valid_ && category <= kMaxAcBits;
      sink.ac(table, static_cast<uint8_t>(zeros << 4 | (category & 15)), bits_of(value), category);
      zeros = 0;
    }
    if (zeros > 0) {
      sink.ac(table, kEndOfBlock, 0, 0);
    }
  }

  static int category_of(int value) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(std::abs(value))));
  }

  /// A negative number is stored as its distance from the smallest of its category.
  static uint32_t bits_of(int value) {
    return static_cast<uint32_t>(value < 0 ? value - 1 : value);
  }

  const JpegCoefficients& image_;
  const int64_t tile_mcus_;
  std::vector<int> predictions_;
  bool is_valid_ = true;
};

/// The bytes of a header.
class HeaderWriter {
 public:
  explicit HeaderWriter(std::vector<uint8_t>& into) : into_(into) {}

  void bytes(std::initializer_list<int64_t> values) {
    for (const int64_t value : values) {
      into_.push_back(static_cast<uint8_t>(value));
    }
  }
  void word(int64_t value) { bytes({value >> 8, value & 0xff}); }
  template <typename Range>
  void all(const Range& range) {
    into_.insert(into_.end(), range.begin(), range.end());
  }
  void begin_segment(int64_t marker, int64_t content_bytes) {
    bytes({0xff, marker});
    word(content_bytes + 2);
  }
  [[nodiscard]] int64_t position() const { return static_cast<int64_t>(into_.size()); }

 private:
  std::vector<uint8_t>& into_;
};

/// Writes the quantisation tables.
///
/// @return whether a baseline JPEG may have them
bool write_quantisation(const JpegCoefficients& image, HeaderWriter& header) {
  bool is_baseline = true;
  for (std::size_t number = 0; number < image.tables.size(); ++number) {
    const auto uses_it = [&](const JpegComponent& c) { return c.quantisation == number; };
    if (std::none_of(image.components.begin(), image.components.end(), uses_it)) {
      continue;
    }
    const QuantisationTable& table = *image.tables[number];
    const bool is_wide = *std::max_element(table.begin(), table.end()) > 0xff;
    is_baseline = is_baseline && !is_wide;
    header.begin_segment(0xdb, 1 + 64 * (is_wide ? 2 : 1));
    header.bytes({(is_wide ? 16 : 0) | static_cast<int64_t>(number)});
    for (const uint16_t divisor : table) {
      if (is_wide) {
        header.word(divisor);
      } else {
        header.bytes({divisor});
      }
    }
  }
  return is_baseline;
}

void write_header(const JpegCoefficients& image, const HuffmanTables& tables, TiledJpeg& tiled) {
  HeaderWriter header(tiled.header);
  header.bytes({0xff, 0xd8});
  header.all(image.color_markers);
  const bool is_baseline = write_quantisation(image, header);
  const auto count = static_cast<int64_t>(image.components.size());
  header.begin_segment(is_baseline ? 0xc0 : 0xc1, 6 + 3 * count);
  header.bytes({8});
  tiled.layout.size_at = header.position();
  header.word(image.height);
  header.word(image.width);
  header.bytes({count});
  for (const JpegComponent& component : image.components) {
    header.bytes({component.id, component.h << 4 | component.v,
                  static_cast<int64_t>(component.quantisation)});
  }
  for (std::size_t kind = 0; kind < tables.size(); ++kind) {
    for (std::size_t number = 0; number < tables[kind].size(); ++number) {
      const HuffmanEncoder& table = tables[kind][number];
      if (!table.symbols.empty()) {
        header.begin_segment(0xc4, 17 + static_cast<int64_t>(table.symbols.size()));
        header.bytes({static_cast<int64_t>(kind << 4 | number)});
        header.all(table.counts);
        header.all(table.symbols);
      }
    }
  }
  header.begin_segment(0xdd, 2);
  header.word(tiled.layout.tile_mcus);
  header.begin_segment(0xda, 4 + 2 * count);
  header.bytes({count});
  for (const JpegComponent& component : image.components) {
    const auto table = static_cast<int64_t>(tables_of(image, component));
    header.bytes({component.id, table << 4 | table});
  }
  header.bytes({0, 63, 0});
}

TileLayout layout_of(const JpegCoefficients& image) {
  const bool is_single = image.components.size() == 1;
  TileLayout layout;
  layout.width = image.width;
  layout.height = image.height;
  layout.mcu_width = is_single ? 8 : 8 * image.max_h;
  layout.mcu_height = is_single ? 8 : 8 * image.max_v;
  layout.tile_mcus = mcus_of_tile((image.width + layout.mcu_width - 1) / layout.mcu_width);
  return layout;
}

/// Returns how far the pixels of an MCU depend on those beside it.
int64_t margin_of(int64_t mcu_side) { return mcu_side > 8 ? mcu_side / 8 : 0; }

}  // namespace

std::optional<TiledJpeg> tile_jpeg(std::span<const uint8_t> jpeg) {
  const std::optional<JpegCoefficients> image = read_coefficients(jpeg);
  if (!image) {
    return std::nullopt;
  }
  TiledJpeg tiled;
  tiled.layout = layout_of(*image);
  Encoder encoder(*image, tiled.layout.tile_mcus);
  SymbolCounter counter;
  if (!encoder.run(counter)) {
    return std::nullopt;
  }
  HuffmanTables tables;
  for (std::size_t kind = 0; kind < tables.size(); ++kind) {
    for (std::size_t number = 0; number < tables[kind].size(); ++number) {
      tables[kind][number] = counter.table(kind, number);
    }
  }
  write_header(*image, tables, tiled);
  TileWriter writer(tables, tiled);
  encoder.run(writer);
  return tiled;
}

TileRange tiles_of(const TileLayout& layout, const Region& region) {
  const int64_t across = margin_of(layout.mcu_width);
  const int64_t along = margin_of(layout.mcu_height);
  const int64_t side = layout.tile_width();
  TileRange range{};
  range.left = std::max<int64_t>(0, region.left - across) / side;
  range.top = std::max<int64_t>(0, region.top - along) / layout.mcu_height;
  range.right = std::min(layout.across(), (region.left + region.width - 1 + across) / side + 1);
  range.bottom =
      std::min(layout.down(), (region.top + region.height - 1 + along) / layout.mcu_height + 1);
  const int64_t left = range.left * side;
  const int64_t top = range.top * layout.mcu_height;
  range.pixels = {left, top, std::min(layout.width, range.right * side) - left,
                  std::min(layout.height, range.bottom * layout.mcu_height) - top};
  return range;
}

void set_size(const TileLayout& layout, const TileRange& range, std::span<uint8_t> header) {
  const auto at = static_cast<std::size_t>(layout.size_at);
  header[at] = static_cast<uint8_t>(range.pixels.height >> 8);
  header[at + 1] = static_cast<uint8_t>(range.pixels.height);
  header[at + 2] = static_cast<uint8_t>(range.pixels.width >> 8);
  header[at + 3] = static_cast<uint8_t>(range.pixels.width);
}

void end_tile(std::span<uint8_t> tile, int64_t number, bool is_last) {
  tile[tile.size() - 2] = 0xff;
  tile[tile.size() - 1] = is_last ? kEndOfImage : static_cast<uint8_t>(kFirstRestart + number % 8);
}

}  // namespace torchfeed
