// SPDX-License-Identifier: Apache-2.0
#include "core/image/store/image_archive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/host_calls.h"

namespace torchfeed {
namespace {

constexpr int64_t kMostBytesARead = int64_t{1} << 30;

}  // namespace

ImageArchive::ImageArchive(std::string path)
    : path_(std::move(path)),
      // O_NONBLOCK: do not wait for the writer of a pipe; it has no effect on regular files.
      descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  opening(path_, [&] {
    struct stat status {};
    if (descriptor_.value() < 0 || ::fstat(descriptor_.value(), &status) != 0) {
      throw_unreadable(std::generic_category().message(errno));
    }
    if (!S_ISREG(status.st_mode)) {
      throw_unreadable("it is not a regular file");
    }
    opened_bytes_ = status.st_size;
  });
}

void ImageArchive::read(int64_t from, std::span<uint8_t> into) const {
  while (!into.empty()) {
    const std::size_t wanted = std::min<std::size_t>(into.size(), kMostBytesARead);
    const ssize_t got = ::pread(descriptor_.value(), into.data(), wanted, from);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      throw_unreadable(got == 0 ? shrunk() : std::generic_category().message(errno));
    }
    from += got;
    into = into.subspan(static_cast<std::size_t>(got));
  }
}

bool ImageArchive::read_cached(int64_t from, std::span<uint8_t> into) const {
  const ssize_t got = torchfeed::read_cached(descriptor_.value(), into.data(), into.size(), from);
  return got >= 0 && static_cast<std::size_t>(got) == into.size();
}

void ImageArchive::read_ahead(std::size_t number) const {
  const RecordRow image = row(number);
  torchfeed::read_ahead(descriptor_.value(), image.offset, image.bytes());
}

std::string ImageArchive::shrunk() const {
  struct stat now {};
  const bool known = ::fstat(descriptor_.value(), &now) == 0;
  return "the file now has " + (known ? std::to_string(now.st_size) : "fewer") +
         " bytes, but had " + std::to_string(opened_bytes_) + " when it was opened";
}

}  // namespace torchfeed
