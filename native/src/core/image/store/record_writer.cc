// SPDX-License-Identifier: Apache-2.0
#include "core/image/store/record_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <sstream>
#include <system_error>

#include "core/crc32.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

constexpr mode_t kMode = 0666;  // less the umask's bits

constexpr std::size_t kLongestStem = 255 - 25;  // the file systems' limit, less the part appended

/// Returns a name that no other writer has: one that was killed may have left its file.
std::string partial_name(const std::string& path) {
  std::random_device random;
  std::ostringstream name;
  const std::size_t folder = path.rfind('/') + 1;
  name << path.substr(0, folder) << path.substr(folder, kLongestStem) << ".partial-" << std::hex
       << random() << random();
  return name.str();
}

/// Returns the file that a link leads to, so that the link stays; a link to nothing is replaced.
std::string target_of(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> target(::realpath(path.c_str(), nullptr),
                                                           &std::free);
  struct stat status {};
  if (target != nullptr && ::stat(target.get(), &status) == 0 && !S_ISREG(status.st_mode)) {
    // Renaming would replace a device or a pipe by a file.
    throw Error(ErrorCode::kUnreadable,
                path + " cannot be written: it exists and is not a regular file");
  }
  return target == nullptr ? path : std::string(target.get());
}

/// Makes the renaming of a file last. Not all file systems can, so a failure is no error.
void sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const FileDescriptor descriptor(::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (descriptor.value() >= 0) {
    ::fsync(descriptor.value());
  }
}

}  // namespace

RecordWriter::RecordWriter(const std::string& path)
    : path_(target_of(path)),
      partial_(partial_name(path_)),
      descriptor_(::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode)) {
  require(descriptor_.value() >= 0);
  end_ = kRecordHeaderBytes;
}

RecordWriter::~RecordWriter() {
  if (!is_finished_) {
    ::unlink(partial_.c_str());
  }
}

void RecordWriter::add(const RecordImage& image, uint32_t label) {
  RecordRow row;
  row.tiles = image.tiles;
  row.label = label;
  row.orientation = image.orientation;
  row.checksum = crc32(image.bytes);
  row.offset = (end_ + kRecordAlignment - 1) / kRecordAlignment * kRecordAlignment;
  end_ = row.offset;
  write(image.bytes);
  rows_.push_back(row);
  tiled_ += row.is_tiled() ? 1U : 0U;
}

void RecordWriter::finish(const std::string& description) {
  RecordHeader header;
  header.images = static_cast<int64_t>(rows_.size());
  header.description_at = end_;
  header.description_bytes = static_cast<int64_t>(description.size());
  std::vector<uint8_t> rest(description.begin(), description.end());
  for (const RecordRow& row : rows_) {
    const RecordRowBytes bytes = written(row);
    rest.insert(rest.end(), bytes.begin(), bytes.end());
  }
  write(rest);
  header.file_bytes = end_;
  header.checksum = checksum_of(written(header), rest);
  write_at(0, written(header));
  require(::fsync(descriptor_.value()) == 0);
  require(::rename(partial_.c_str(), path_.c_str()) == 0);
  is_finished_ = true;
  sync_folder_of(path_);
}

void RecordWriter::write(std::span<const uint8_t> bytes) {
  write_at(end_, bytes);
  end_ += static_cast<int64_t>(bytes.size());
}

void RecordWriter::write_at(int64_t from, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(descriptor_.value(), bytes.data(), bytes.size(), from);
    if (done < 0 && errno == EINTR) {
      continue;
    }
    require(done >= 0);
    from += done;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void RecordWriter::require(bool succeeded) const {
  if (!succeeded) {
    const std::string reason = std::generic_category().message(errno);
    throw Error(ErrorCode::kUnreadable, path_ + " cannot be written: " + reason);
  }
}

}  // namespace torchfeed
