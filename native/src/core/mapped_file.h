// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace torchfeed {

/// The bytes of a file as memory, where a copy of bytes that are no longer there fails instead of
/// ending the process by a SIGBUS. Immutable and thread-safe.
///
/// The first file that is mapped sets the handler of that signal, which passes faults of all other
/// memory to the handler before it, the JVM's. With `TORCHFEED_MAPPED_FILES=0` in the environment,
/// no file is mapped.
class MappedFile {
 public:
  MappedFile() = default;

  /// The pages that the system reads at a fault.
  enum class Faults {
    kAlone,   // one at a time, for short rows
    kAround,  // with the pages around them
  };

  /// Maps the first `bytes` of a file; nothing if the system refuses that, or if very many files
  /// are mapped.
  MappedFile(int descriptor, int64_t bytes, Faults faults);
  MappedFile(MappedFile&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), bytes_(other.bytes_) {}
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  [[nodiscard]] bool is_mapped() const { return begin_ != nullptr; }

  /// Copies bytes from a position of the file on, all of them within the mapped ones. The page that
  /// holds the end of the file continues with zeros, so the caller compares the size of the file.
  ///
  /// @return whether they could be read; otherwise, any of them may have been copied
  bool copy(std::byte* target, int64_t from, std::size_t bytes) const;

 private:
  std::byte* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace torchfeed
