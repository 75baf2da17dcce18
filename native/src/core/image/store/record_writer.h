// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/file_descriptor.h"
#include "core/image/store/record_format.h"
#include "core/image/store/record_image.h"

namespace torchfeed {

/// Writes a record file under another name beside it, which `finish` changes: an existing file
/// is whole. Without `finish`, nothing is left. One thread at a time.
///
/// Every function throws an `Error` of the code `kUnreadable` if writing fails; after that, only
/// the destructor may be called.
class RecordWriter {
 public:
  /// @param path  of the file; one that exists is replaced at the end
  explicit RecordWriter(const std::string& path);
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;
  ~RecordWriter();

  /// Appends an image.
  void add(const RecordImage& image, uint32_t label);
  /// Completes the file.
  ///
  /// @param description  in JSON
  void finish(const std::string& description);

  [[nodiscard]] std::size_t images() const { return rows_.size(); }
  /// Returns the number of images in tiles.
  [[nodiscard]] std::size_t tiled() const { return tiled_; }

 private:
  void write(std::span<const uint8_t> bytes);
  void write_at(int64_t from, std::span<const uint8_t> bytes);
  void require(bool succeeded) const;

  const std::string path_;
  const std::string partial_;
  FileDescriptor descriptor_;
  bool is_finished_ = false;
  int64_t end_ = 0;
  std::vector<RecordRow> rows_;
  std::size_t tiled_ = 0;
};

}  // namespace torchfeed
