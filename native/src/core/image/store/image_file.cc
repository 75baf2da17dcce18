// SPDX-License-Identifier: Apache-2.0
#include "core/image/store/image_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <system_error>

#include "core/file_descriptor.h"
#include "core/image/decode/image_source.h"

namespace torchfeed {
namespace {

constexpr off_t kMaxFileBytes = off_t{1} << 30;

[[noreturn]] void throw_errno() { throw_unreadable(std::generic_category().message(errno)); }

}  // namespace

void read_image_file(const std::string& path, std::vector<uint8_t>& content) {
  // O_NONBLOCK: do not wait for the writer of a pipe; it has no effect on regular files.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (file.value() < 0 || ::fstat(file.value(), &status) != 0) {
    throw_errno();
  }
  if (!S_ISREG(status.st_mode)) {
    throw_unreadable("it is not a regular file");
  }
  if (status.st_size > kMaxFileBytes) {
    throw_unreadable("it has more than " + std::to_string(kMaxFileBytes) + " bytes");
  }
  content.resize(static_cast<std::size_t>(status.st_size));
  std::size_t done = 0;
  while (done < content.size()) {
    const ssize_t got = ::read(file.value(), content.data() + done, content.size() - done);
    if (got < 0 && errno != EINTR) {
      throw_errno();
    }
    if (got == 0) {
      content.resize(done);
    }
    done += static_cast<std::size_t>(std::max<ssize_t>(0, got));
  }
}

}  // namespace torchfeed
