// SPDX-License-Identifier: Apache-2.0
#include "core/image/store/record_file.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/crc32.h"
#include "core/image/decode/exif_orientation.h"
#include "core/image/decode/oriented_source.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

/// The bytes of one image of a file.
class ImageBytes final : public StoredBytes {
 public:
  ImageBytes(const RecordFile& file, int64_t offset) : file_(file), offset_(offset) {}

  void read(int64_t from, std::span<uint8_t> into) const override {
    file_.read(offset_ + from, into);
  }

 private:
  const RecordFile& file_;
  const int64_t offset_;
};

}  // namespace

RecordFile::RecordFile(const std::string& path) : ImageArchive(path) {
  opening(path, [&] { read_index(); });
}

void RecordFile::read_index() {
  RecordHeaderBytes head{};
  const auto begin = std::span(head).first(
      static_cast<std::size_t>(std::min(opened_bytes(), static_cast<int64_t>(head.size()))));
  read(0, begin);
  refuse_placeholder(begin);
  const RecordHeader header = read_header(head);
  constexpr auto kRowBytes = static_cast<int64_t>(kRecordRowBytes);
  const int64_t rest = header.file_bytes - header.description_at;
  if (header.file_bytes != opened_bytes()) {
    throw_unreadable("it must have " + std::to_string(header.file_bytes) + " bytes, got " +
                     std::to_string(opened_bytes()));
  }
  if (rest < 0 || header.description_bytes > rest ||
      (rest - header.description_bytes) % kRowBytes != 0 ||
      (rest - header.description_bytes) / kRowBytes != header.images) {
    throw_unreadable("its header is damaged");
  }
  std::vector<uint8_t> index(static_cast<std::size_t>(rest));
  read(header.description_at, index);
  if (checksum_of(head, index) != header.checksum) {
    throw_unreadable("its index is damaged");
  }
  const auto rows = index.begin() + static_cast<std::ptrdiff_t>(header.description_bytes);
  description_.assign(index.begin(), rows);
  end_ = header.description_at;
  rows_.resize(static_cast<std::size_t>(header.images));
  auto at = rows;
  for (RecordRowBytes& row : rows_) {
    std::copy_n(at, kRecordRowBytes, row.begin());
    at += static_cast<std::ptrdiff_t>(kRecordRowBytes);
    const auto image = [&] { return "image " + std::to_string(&row - rows_.data()); };
    const std::optional<RecordRow> read = read_row(row, end_);
    if (!read) {
      throw_unreadable(image() + " of its index is damaged");
    }
    if (read->label > kMostLabel) {
      throw_unreadable(image() + " must have a label from 0 to " + std::to_string(kMostLabel) +
                       ", got " + std::to_string(read->label) +
                       "; write the file again with smaller labels");
    }
  }
}

RecordRow RecordFile::row(std::size_t number) const { return *read_row(rows_[number], end_); }

std::string RecordFile::problem(std::size_t number) const {
  const RecordRow image = row(number);
  try {
    std::vector<uint8_t> bytes(static_cast<std::size_t>(image.bytes()));
    read(image.offset, bytes);
    if (crc32(bytes) != image.checksum) {
      return "its checksum is wrong";
    }
    RecordMemory memory;
    const ImageBytes stored(*this, image.offset);
    const auto source = open_record(image, stored, memory, /*follows_orientation=*/false);
    const int64_t height = source->height();
    source->begin({0, 0, source->width(), height});
    for (int64_t y = 0; y < height; ++y) {
      source->next_row();
    }
    return "";
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnreadable) {
      throw;
    }
    return error.message();
  }
}

std::unique_ptr<ImageSource> open_record(const RecordRow& row, const StoredBytes& stored,
                                         RecordMemory& memory, bool follows_orientation,
                                         const DecodeOptions& options) {
  if (row.is_tiled()) {
    require_pixels(row.tiles.layout.width, row.tiles.layout.height, options.max_pixels);
    std::unique_ptr<ImageSource> source = open_tiles(row.tiles, stored, memory.tiles);
    return follows_orientation ? oriented(std::move(source), row.orientation) : std::move(source);
  }
  memory.encoded.resize(static_cast<std::size_t>(row.bytes()));
  stored.read(0, memory.encoded);
  std::unique_ptr<ImageSource> source = open_image(memory.encoded, options);
  const TileLayout& size = row.tiles.layout;
  if (size.width > 0 && (source->width() != size.width || source->height() != size.height)) {
    throw_unreadable("its size is not the one in the index");
  }
  return follows_orientation ? oriented(std::move(source), exif_orientation(memory.encoded))
                             : std::move(source);
}

}  // namespace torchfeed
