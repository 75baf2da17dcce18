// SPDX-License-Identifier: Apache-2.0
#include "core/image/jpeg/jpeg_coefficients.h"

#include <algorithm>
#include <string_view>

#include "core/image/jpeg/jpeg_format.h"
#include "core/image/jpeg/jpeg_scan.h"

namespace torchfeed {
namespace {

constexpr int64_t kMaxTiledPixels = int64_t{1} << 26;
constexpr std::size_t kMaxComponents = 4;
constexpr int kMaxBlocksOfMcu = 10;

enum Marker : uint8_t {
  kSequential = 0xc0,
  kExtended = 0xc1,
  kProgressive = 0xc2,
  kHuffmanTables = 0xc4,
  kRestart = 0xd0,
  kStart = 0xd8,
  kEnd = 0xd9,
  kScan = 0xda,
  kQuantisationTables = 0xdb,
  kRestartInterval = 0xdd,
  kApplication = 0xe0,
  kAdobe = 0xee,
  kComment = 0xfe,
  kPrefix = 0xff,
};

int64_t ceiling(int64_t a, int64_t b) { return (a + b - 1) / b; }

void require(bool condition) {
  if (!condition) {
    throw UnsupportedJpeg();
  }
}

/// The content of a marker segment.
class Segment {
 public:
  explicit Segment(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint8_t byte() { return take(1)[0]; }
  int word() {
    const auto two = take(2);
    return two[0] << 8 | two[1];
  }
  std::span<const uint8_t> take(std::size_t count) {
    require(count <= bytes_.size());
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  [[nodiscard]] bool at_end() const { return bytes_.empty(); }
  [[nodiscard]] bool begins_with(std::string_view magic) const {
    return bytes_.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes_.begin());
  }

 private:
  std::span<const uint8_t> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> jpeg) : jpeg_(jpeg) {}

  JpegCoefficients read() {
    require(jpeg_.size() > 2 && jpeg_[0] == kPrefix && jpeg_[1] == kStart);
    at_ = 2;
    for (uint8_t marker = next_marker(); marker != kEnd; marker = next_marker()) {
      read_segment(marker);
    }
    require(scans_ > 0);
    for (const JpegComponent& component : image_.components) {
      require(image_.tables[component.quantisation].has_value());
    }
    return std::move(image_);
  }

 private:
  /// Finds the next marker, past entropy-coded data that no scan used.
  uint8_t next_marker() {
    for (; at_ + 1 < jpeg_.size(); ++at_) {
      const uint8_t code = jpeg_[at_ + 1];
      if (jpeg_[at_] == kPrefix && code != 0 && code != kPrefix) {
        at_ += 2;
        return code;
      }
    }
    throw UnsupportedJpeg();
  }

  void read_segment(uint8_t marker) {
    require(marker < kRestart || marker > kStart);
    require(at_ + 2 <= jpeg_.size());
    const std::size_t length = static_cast<std::size_t>(jpeg_[at_] << 8 | jpeg_[at_ + 1]);
    require(length >= 2 && length <= jpeg_.size() - at_);
    const auto whole = jpeg_.subspan(at_ - 2, length + 2);
    Segment segment(whole.subspan(4));
    at_ += length;
    switch (marker) {
      case kSequential:
      case kExtended:
      case kProgressive:
        return read_frame(segment, marker == kProgressive);
      case kHuffmanTables:
        return read_huffman_tables(segment);
      case kQuantisationTables:
        return read_quantisation_tables(segment);
      case kRestartInterval:
        restart_interval_ = segment.word();
        return;
      case kScan:
        return read_scan(segment);
      default:
        break;
    }
    require(marker >= kApplication && marker <= kComment);
    if ((marker == kApplication && segment.begins_with({"JFIF\0", 5})) ||
        (marker == kAdobe && segment.begins_with("Adobe"))) {
      image_.color_markers.insert(image_.color_markers.end(), whole.begin(), whole.end());
    }
  }

  void read_frame(Segment& segment, bool is_progressive) {
    require(image_.components.empty());
    is_progressive_ = is_progressive;
    require(segment.byte() == 8);  // bits of a sample
    image_.height = segment.word();
    image_.width = segment.word();
    require(image_.width > 0 && image_.height > 0 &&
            image_.width * image_.height <= kMaxTiledPixels);
    const std::size_t count = segment.byte();
    require(count >= 1 && count <= kMaxComponents);
    int blocks_of_mcu = 0;
    for (std::size_t i = 0; i < count; ++i) {
      JpegComponent component;
      component.id = segment.byte();
      const uint8_t sampling = segment.byte();
      component.h = sampling >> 4;
      component.v = sampling & 15;
      component.quantisation = segment.byte();
      require(component.h >= 1 && component.h <= 4 && component.v >= 1 && component.v <= 4);
      require(component.quantisation < image_.tables.size());
      image_.max_h = std::max(image_.max_h, component.h);
      image_.max_v = std::max(image_.max_v, component.v);
      blocks_of_mcu += component.h * component.v;
      image_.components.push_back(std::move(component));
    }
    require(count == 1 || blocks_of_mcu <= kMaxBlocksOfMcu);
    make_blocks();
  }

  void make_blocks() {
    image_.mcus_across = ceiling(image_.width, 8 * image_.max_h);
    image_.mcus_down = ceiling(image_.height, 8 * image_.max_v);
    for (JpegComponent& component : image_.components) {
      component.columns = ceiling(image_.width * component.h, 8 * image_.max_h);
      component.rows = ceiling(image_.height * component.v, 8 * image_.max_v);
      component.stride = image_.mcus_across * component.h;
      component.blocks.resize(
          static_cast<std::size_t>(component.stride * image_.mcus_down * component.v));
    }
  }

  void read_quantisation_tables(Segment& segment) {
    require(scans_ == 0);
    while (!segment.at_end()) {
      const uint8_t kind = segment.byte();
      require(kind >> 4 <= 1 && (kind & 15) < 4);
      QuantisationTable& table = image_.tables[kind & 15].emplace();
      for (uint16_t& divisor : table) {
        divisor = static_cast<uint16_t>(kind >> 4 == 1 ? segment.word() : segment.byte());
      }
    }
  }

  void read_huffman_tables(Segment& segment) {
    while (!segment.at_end()) {
      const uint8_t kind = segment.byte();
      require(kind >> 4 <= 1 && (kind & 15) < 4);
      const auto counts = segment.take(16);
      std::size_t codes = 0;
      for (const uint8_t count : counts) {
        codes += count;
      }
      require(codes <= 256);
      huffman_[kind >> 4][kind & 15].emplace(counts, segment.take(codes));
    }
  }

  const HuffmanDecoder* table(int kind, int number) const {
    require(number < 4);
    const auto& slot = huffman_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(number)];
    return slot ? &*slot : nullptr;
  }

  void read_scan(Segment& segment) {
    require(!image_.components.empty() && ++scans_ <= kMaxScans);
    JpegScan scan;
    const std::size_t count = segment.byte();
    require(count >= 1 && count <= image_.components.size());
    for (std::size_t i = 0; i < count; ++i) {
      const uint8_t id = segment.byte();
      const uint8_t tables = segment.byte();
      const auto found =
          std::find_if(image_.components.begin(), image_.components.end(),
                       [&](const JpegComponent& component) { return component.id == id; });
      require(found != image_.components.end());
      scan.parts.push_back({&*found, table(0, tables >> 4), table(1, tables & 15)});
    }
    scan.is_progressive = is_progressive_;
    const auto range = segment.take(3);
    if (is_progressive_) {
      scan.first = range[0];
      scan.last = range[1];
      scan.high = range[2] >> 4;
      scan.low = range[2] & 15;
    } else {
      scan.last = kBlockSize - 1;  // whatever the header says, as in libjpeg
    }
    scan.restart_interval = restart_interval_;
    require_range(scan);
    at_ += decode_scan(scan, image_, jpeg_.subspan(at_));
  }

  void require_range(const JpegScan& scan) const {
    if (!is_progressive_) {
      return;
    }
    require(scan.first <= scan.last && scan.last < kBlockSize && scan.low <= 13);
    require(scan.first > 0 ? scan.parts.size() == 1 : scan.last == 0);
    require(scan.high == 0 || scan.high == scan.low + 1);
  }

  std::span<const uint8_t> jpeg_;
  std::size_t at_ = 0;
  JpegCoefficients image_;
  bool is_progressive_ = false;
  int scans_ = 0;
  int64_t restart_interval_ = 0;
  std::array<std::array<std::optional<HuffmanDecoder>, 4>, 2> huffman_{};  // for DC, for AC
};

}  // namespace

std::optional<JpegCoefficients> read_coefficients(std::span<const uint8_t> jpeg) {
  try {
    return Reader(jpeg).read();
  } catch (const UnsupportedJpeg&) {
    return std::nullopt;
  }
}

}  // namespace torchfeed
