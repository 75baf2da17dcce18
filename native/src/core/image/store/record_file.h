// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/image/decode/image_source.h"
#include "core/image/store/image_archive.h"
#include "core/image/store/record_format.h"
#include "core/image/store/tile_source.h"

namespace torchfeed {

/// A record file: see `record_format.h`.
class RecordFile final : public ImageArchive {
 public:
  /// Opens a file and reads its index.
  ///
  /// @throws Error  of code `kUnreadable` if it cannot be opened, is damaged or of another kind
  explicit RecordFile(const std::string& path);

  [[nodiscard]] const std::string& description() const { return description_; }
  [[nodiscard]] std::size_t images() const override { return rows_.size(); }
  [[nodiscard]] RecordRow row(std::size_t number) const override;

  /// Returns the reason why an image and its checksum are not as they were written, or nothing.
  [[nodiscard]] std::string problem(std::size_t number) const;

 private:
  void read_index();

  std::string description_;
  int64_t end_ = 0;                   // of the images
  std::vector<RecordRowBytes> rows_;  // as in the file, which takes half the memory
};

/// Memory that the images of one thread reuse, each after the one before.
struct RecordMemory {
  TileMemory tiles;
  std::vector<uint8_t> encoded;  // an image without tiles
};

/// Opens a stored image, reading as little of it as its kind permits.
///
/// @param stored  its bytes; must outlive the source, as must `memory`
/// @param follows_orientation  whether it is turned as the EXIF data of its file want it
std::unique_ptr<ImageSource> open_record(const RecordRow& row, const StoredBytes& stored,
                                         RecordMemory& memory, bool follows_orientation,
                                         const DecodeOptions& options = {});

}  // namespace torchfeed
