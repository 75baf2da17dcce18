// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/file_descriptor.h"
#include "core/image/store/record_format.h"
#include "torchfeed/error.h"

namespace torchfeed {

/// Images and their labels in one file, which stays open until the object is destroyed, so it may
/// be renamed or removed in the meantime. It is read, never mapped. Immutable and thread-safe.
class ImageArchive {
 public:
  ImageArchive(const ImageArchive&) = delete;
  ImageArchive& operator=(const ImageArchive&) = delete;
  virtual ~ImageArchive() = default;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] virtual std::size_t images() const = 0;
  /// Returns where an image is. Without tiles, its size may be left out.
  [[nodiscard]] virtual RecordRow row(std::size_t number) const = 0;

  /// Reads bytes of the file.
  ///
  /// @throws Error  of code `kUnreadable` if that fails, or the file has become too short
  void read(int64_t from, std::span<uint8_t> into) const;
  /// Reads bytes if all of them are in memory already.
  ///
  /// @return false if they are not, or if the file system cannot tell
  [[nodiscard]] bool read_cached(int64_t from, std::span<uint8_t> into) const;
  /// Asks the operating system to start reading an image.
  void read_ahead(std::size_t number) const;

 protected:
  /// Opens a regular file.
  ///
  /// @throws Error  of code `kUnreadable` if it cannot be opened
  explicit ImageArchive(std::string path);

  [[nodiscard]] int64_t opened_bytes() const { return opened_bytes_; }

 private:
  [[nodiscard]] std::string shrunk() const;

  const std::string path_;
  const FileDescriptor descriptor_;
  int64_t opened_bytes_ = 0;
};

using SharedImages = std::shared_ptr<const ImageArchive>;

/// Runs a part of the constructor of a file, whose errors then name the file.
template <typename Body>
void opening(const std::string& path, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    throw Error(error.code(), path + " cannot be opened: " + error.message());
  }
}

}  // namespace torchfeed
