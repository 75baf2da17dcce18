// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "torchfeed/export.h"

namespace torchfeed {

/// Record or tar files of images and labels: the source of a `RowSet`. The files stay open until
/// this object, the sets made of it and their feeds are destroyed. One thread at a time.
class TORCHFEED_API ImageRecords {
 public:
  [[nodiscard]] static std::unique_ptr<ImageRecords> create();
  ImageRecords(const ImageRecords&) = delete;
  ImageRecords& operator=(const ImageRecords&) = delete;
  ~ImageRecords();

  /// Opens a file and appends its images.
  void add(const std::string& path);
  /// Opens a tar file in the form of WebDataset and appends its images.
  ///
  /// @param skips  whether samples without one image and one label are left out
  void add_tar(const std::string& path, bool skips);
  /// Returns the number of samples that were left out.
  [[nodiscard]] int64_t left_out() const;
  /// Returns the file, the key and the fault of a sample that was left out.
  [[nodiscard]] std::string left_out_sample(int64_t number) const;
  /// Returns the number of images of all files.
  [[nodiscard]] int64_t rows() const;
  /// Returns the description in a record file: JSON.
  [[nodiscard]] std::string description(int64_t file) const;
  /// Writes the label of each image.
  ///
  /// @param into  receives `rows()` numbers
  void labels(int64_t* into) const;
  /// Reads and decodes an image of a record file as a whole, and returns its defect, or nothing.
  [[nodiscard]] std::string problem(int64_t row) const;

 private:
  friend class RowSet;  // keeps reading the files after this object is destroyed
  class Impl;
  explicit ImageRecords(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// An image as it will be stored in a record file.
class TORCHFEED_API ImageRecord {
 public:
  /// Reads, decodes and rewrites an image file. Thread-safe.
  [[nodiscard]] static std::unique_ptr<ImageRecord> read(const std::string& path);
  ImageRecord(const ImageRecord&) = delete;
  ImageRecord& operator=(const ImageRecord&) = delete;
  ~ImageRecord();

 private:
  friend class ImageRecordWriter;  // stores it
  class Impl;
  explicit ImageRecord(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Writes a record file, which appears under its name once it is finished. If this object is
/// destroyed before that, nothing is left of it. One thread at a time.
class TORCHFEED_API ImageRecordWriter {
 public:
  /// @param path  of the file; one that exists is replaced at the end
  [[nodiscard]] static std::unique_ptr<ImageRecordWriter> create(const std::string& path);
  ImageRecordWriter(const ImageRecordWriter&) = delete;
  ImageRecordWriter& operator=(const ImageRecordWriter&) = delete;
  ~ImageRecordWriter();

  /// @param label  from 0 to 2^31 - 1
  void add(const ImageRecord& image, int64_t label);
  /// Returns the number of images in tiles.
  [[nodiscard]] int64_t tiled() const;
  /// @param description  JSON that is stored with the images
  void finish(const std::string& description);

 private:
  class Impl;
  explicit ImageRecordWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
