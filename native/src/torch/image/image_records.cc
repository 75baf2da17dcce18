// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/image_records.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/image/store/image_file.h"
#include "core/image/store/record_file.h"
#include "core/image/store/record_image.h"
#include "core/image/store/record_writer.h"
#include "core/image/store/tar_file.h"
#include "torch/base/guard.h"
#include "torch/image/image_records_impl.h"

namespace torchfeed {
namespace {

const RecordFile& record_file(const SharedImages& file) {
  if (const auto* const records = dynamic_cast<const RecordFile*>(file.get())) {
    return *records;
  }
  throw Error(ErrorCode::kInvalidArgument, file->path() + " is not a record file");
}

}  // namespace

ImageRecords::ImageRecords(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ImageRecords::~ImageRecords() = default;

std::unique_ptr<ImageRecords> ImageRecords::create() {
  return guarded(
      [] { return std::unique_ptr<ImageRecords>(new ImageRecords(std::make_unique<Impl>())); });
}

void ImageRecords::add(const std::string& path) {
  guarded([&] { impl_->files.push_back(std::make_shared<const RecordFile>(path)); });
}

void ImageRecords::add_tar(const std::string& path, bool skips) {
  guarded([&] {
    auto file = std::make_shared<const TarFile>(path, skips);
    impl_->left_out.insert(impl_->left_out.end(), file->left_out().begin(), file->left_out().end());
    impl_->files.push_back(std::move(file));
  });
}

int64_t ImageRecords::left_out() const { return static_cast<int64_t>(impl_->left_out.size()); }

std::string ImageRecords::left_out_sample(int64_t number) const {
  return guarded([&] { return impl_->left_out.at(static_cast<std::size_t>(number)); });
}

int64_t ImageRecords::rows() const { return images_of(impl_->files); }

std::string ImageRecords::description(int64_t file) const {
  return guarded(
      [&] { return record_file(impl_->files.at(static_cast<std::size_t>(file))).description(); });
}

void ImageRecords::labels(int64_t* into) const {
  guarded([&] {
    const std::vector<int64_t> labels = labels_of(impl_->files);
    std::copy(labels.begin(), labels.end(), into);
  });
}

std::string ImageRecords::problem(int64_t row) const {
  return guarded([&] {
    auto number = static_cast<std::size_t>(row);
    for (const SharedImages& file : impl_->files) {
      if (number < file->images()) {
        return record_file(file).problem(number);
      }
      number -= file->images();
    }
    throw Error(ErrorCode::kInvalidArgument, "there is no image " + std::to_string(row));
  });
}

class ImageRecord::Impl {
 public:
  explicit Impl(RecordImage stored) : image(std::move(stored)) {}

  const RecordImage image;

 private:
  LiveCount live_;
};

ImageRecord::ImageRecord(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ImageRecord::~ImageRecord() = default;

std::unique_ptr<ImageRecord> ImageRecord::read(const std::string& path) {
  return guarded([&] {
    try {
      std::vector<uint8_t> encoded;
      read_image_file(path, encoded);
      return std::unique_ptr<ImageRecord>(
          new ImageRecord(std::make_unique<Impl>(record_image(encoded))));
    } catch (const Error& error) {
      throw Error(error.code(), path + " cannot be read as an image: " + error.message());
    }
  });
}

class ImageRecordWriter::Impl {
 public:
  explicit Impl(const std::string& path) : writer(path) {}

  RecordWriter writer;

 private:
  LiveCount live_;
};

ImageRecordWriter::ImageRecordWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ImageRecordWriter::~ImageRecordWriter() = default;

std::unique_ptr<ImageRecordWriter> ImageRecordWriter::create(const std::string& path) {
  return guarded([&] {
    return std::unique_ptr<ImageRecordWriter>(new ImageRecordWriter(std::make_unique<Impl>(path)));
  });
}

void ImageRecordWriter::add(const ImageRecord& image, int64_t label) {
  guarded([&] {
    if (label < 0 || label > std::numeric_limits<int32_t>::max()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "a label must be from 0 to 2147483647, got " + std::to_string(label));
    }
    impl_->writer.add(image.impl_->image, static_cast<uint32_t>(label));
  });
}

int64_t ImageRecordWriter::tiled() const { return static_cast<int64_t>(impl_->writer.tiled()); }

void ImageRecordWriter::finish(const std::string& description) {
  guarded([&] { impl_->writer.finish(description); });
}

}  // namespace torchfeed
