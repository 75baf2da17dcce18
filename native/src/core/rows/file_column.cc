// SPDX-License-Identifier: Apache-2.0
#include "core/rows/file_column.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/host_calls.h"

namespace torchfeed {
namespace {

// Adjacent rows are read in one call, bounded so that an interrupt is noticed in time.
constexpr int64_t kMostBytesARead = int64_t{8} << 20;
// Longer ones are better read at once if they are not in memory.
constexpr int64_t kMostBytesMapped = int64_t{1} << 20;
// The system reads 128 KB around a page that is not in memory, which is much more than such a row.
constexpr int64_t kShortRow = int64_t{16} << 10;

/// Returns whether a copy from a mapped file has waited for a disk.
bool is_slow(std::chrono::nanoseconds duration, int64_t bytes) {
  constexpr std::chrono::microseconds kStart{40};
  return duration > kStart + std::chrono::nanoseconds(bytes);  // 1 GB/s
}

std::string reason(int error) { return std::generic_category().message(error); }

std::string bytes(int64_t count) { return std::to_string(count) + " bytes"; }

[[noreturn]] void refuse_file(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

template <class Unit, class Swap>
void swap_units(std::byte* data, std::size_t length, Swap swap) {
  for (std::size_t at = 0; at + sizeof(Unit) <= length; at += sizeof(Unit)) {
    Unit unit;
    std::memcpy(&unit, data + at, sizeof(Unit));
    unit = swap(unit);
    std::memcpy(data + at, &unit, sizeof(Unit));
  }
}

void swap_bytes(std::byte* data, std::size_t length, int64_t unit_bytes) {
  switch (unit_bytes) {
    case 2:
      return swap_units<uint16_t>(data, length, [](uint16_t v) { return __builtin_bswap16(v); });
    case 4:
      return swap_units<uint32_t>(data, length, [](uint32_t v) { return __builtin_bswap32(v); });
    case 8:
      return swap_units<uint64_t>(data, length, [](uint64_t v) { return __builtin_bswap64(v); });
    default:
      return;
  }
}

/// Returns whether the file system supports reads that do not wait for a disk.
bool can_read_cached(const FileDescriptor& file) {
  std::byte byte{};
  return read_cached(file.value(), &byte, 1, 0) >= 0 || errno != EOPNOTSUPP;
}

/// Returns whether the last of `rows` rows ends within the file; an overflow does not.
bool fits(int64_t size, int64_t offset, int64_t stride, int64_t row_bytes, int64_t rows) {
  int64_t end = 0;
  return rows == 0 || (!__builtin_mul_overflow(rows - 1, stride, &end) &&
                       !__builtin_add_overflow(end, row_bytes, &end) &&
                       !__builtin_add_overflow(end, offset, &end) && end <= size);
}

}  // namespace

FileColumn::FileColumn(int64_t row_bytes, int64_t swap_bytes)
    : row_bytes_(row_bytes), swap_bytes_(swap_bytes) {
  if (row_bytes < 0) {
    refuse_file("row_bytes must be at least 0, got " + std::to_string(row_bytes));
  }
  const bool known = swap_bytes == 1 || swap_bytes == 2 || swap_bytes == 4 || swap_bytes == 8;
  if (!known || row_bytes % swap_bytes != 0) {
    refuse_file("swap_bytes must be 1, 2, 4 or 8 and divide the row's " + bytes(row_bytes) +
                ", got " + std::to_string(swap_bytes));
  }
}

void FileColumn::add_file(const std::string& path, int64_t offset_bytes, int64_t stride_bytes,
                          int64_t rows) {
  int64_t end = 0;
  if (offset_bytes < 0 || stride_bytes < std::min<int64_t>(row_bytes_, 1) || rows < 0 ||
      __builtin_add_overflow(this->rows(), rows, &end)) {
    refuse_file(path + ": offset, stride and rows must be at least 0, " +
                std::to_string(std::min<int64_t>(row_bytes_, 1)) + " and 0, got " +
                std::to_string(offset_bytes) + ", " + std::to_string(stride_bytes) + " and " +
                std::to_string(rows));
  }
  // O_NONBLOCK: do not wait for the writer of a pipe; it has no effect on regular files.
  FileDescriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (opened.value() < 0 || ::fstat(opened.value(), &status) != 0) {
    throw Error(ErrorCode::kUnreadable, path + " cannot be opened: " + reason(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    refuse_file(path + " must be a regular file");
  }
  const int64_t size = status.st_size;
  if (!fits(size, offset_bytes, stride_bytes, row_bytes_, rows)) {
    refuse_file(path + " must hold " + std::to_string(rows) + " rows of " + bytes(row_bytes_) +
                ", one every " + bytes(stride_bytes) + " from byte " +
                std::to_string(offset_bytes) + " on, got a file of " + bytes(size));
  }
  const bool has_cached_reads = can_read_cached(opened);
  const bool is_mapped = has_cached_reads && row_bytes_ <= kMostBytesMapped;
  const auto faults =
      row_bytes_ <= kShortRow ? MappedFile::Faults::kAlone : MappedFile::Faults::kAround;
  MappedFile mapped = is_mapped ? MappedFile(opened.value(), size, faults) : MappedFile();
  files_.push_back({path, std::move(opened), has_cached_reads, size, offset_bytes, stride_bytes,
                    this->rows(), end, std::move(mapped)});
}

const FileColumn::File& FileColumn::file_of(int64_t row) const {
  return *std::upper_bound(files_.begin(), files_.end(), row,
                           [](int64_t wanted, const File& file) { return wanted < file.end; });
}

FileColumn::Run FileColumn::run_of(const File& file, const WantedRows& wanted,
                                   std::size_t done) const {
  const std::size_t row = wanted.rows[done];
  const std::size_t place = wanted.place(done);
  std::size_t run = 1;
  if (file.stride_bytes == row_bytes_) {
    const std::size_t left = static_cast<std::size_t>(file.end) - row;
    const auto longest =
        static_cast<std::size_t>(std::max<int64_t>(1, kMostBytesARead / row_bytes_));
    const std::size_t most = std::min({wanted.rows.size() - done, left, longest});
    while (run < most && wanted.rows[done + run] == row + run &&
           wanted.place(done + run) == place + run) {
      ++run;
    }
  }
  return {static_cast<int64_t>(row), place, run};
}

void FileColumn::read(const File& file, std::byte* target, const Run& run, Patience patience,
                      const std::atomic<bool>& stop, int64_t& done) const {
  const int64_t wanted = static_cast<int64_t>(run.rows) * row_bytes_;
  const int64_t from = file.position_of(run.first);
  while (done < wanted && !stop.load(std::memory_order_relaxed)) {
    const auto rest = static_cast<std::size_t>(std::min(wanted - done, kMostBytesARead));
    const int descriptor = file.descriptor.value();
    const ssize_t got = patience == Patience::kNone
                            ? read_cached(descriptor, target + done, rest, from + done)
                            : ::pread(descriptor, target + done, rest, from + done);
    if (got > 0) {
      done += got;
      continue;
    }
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (patience == Patience::kNone) {
      return;  // if it is an error, the blocking read will report it
    }
    const int error = got < 0 ? errno : 0;
    const int64_t read = done / row_bytes_;
    throw UnreadableRow(
        run.place + static_cast<std::size_t>(read),
        described(file, run.first + read) + (error == 0 ? shrunk(file) : reason(error)));
  }
}

void FileColumn::read_ahead(const WantedRows& wanted, std::size_t done) const {
  while (done < wanted.rows.size()) {
    const File& file = file_of(static_cast<int64_t>(wanted.rows[done]));
    const Run run = run_of(file, wanted, done);
    torchfeed::read_ahead(file.descriptor.value(), file.position_of(run.first),
                          static_cast<int64_t>(run.rows) * row_bytes_);
    done += run.rows;
  }
}

std::string FileColumn::described(const File& file, int64_t row) const {
  const int64_t begin = file.position_of(row);
  return file.path + ": row " + std::to_string(row - file.first) + ", bytes " +
         std::to_string(begin) + " to " + std::to_string(begin + row_bytes_) + ", cannot be read: ";
}

std::string FileColumn::shrunk(const File& file) {
  struct stat now {};
  const bool known = ::fstat(file.descriptor.value(), &now) == 0;
  return "the file now has " + (known ? bytes(now.st_size) : "fewer bytes") + ", but had " +
         std::to_string(file.opened_bytes) + " when it was opened";
}

bool FileColumn::is_shorter(const File& file) {
  struct stat now {};
  return ::fstat(file.descriptor.value(), &now) != 0 || now.st_size < file.opened_bytes;
}

bool FileColumn::gather(std::byte* target, const WantedRows& wanted,
                        const std::atomic<bool>& stop) const {
  if (row_bytes_ == 0) {
    return true;
  }
  Copied copied;
  try {
    if (!gather(target, wanted, stop, &copied)) {
      return false;
    }
  } catch (const UnreadableRow&) {
    if (copied.empty()) {
      throw;
    }
    // An earlier row may be missing, too, in a page that continues with zeros.
    return gather(target, wanted, stop, nullptr);
  }
  std::sort(copied.begin(), copied.end());
  const auto end = std::unique(copied.begin(), copied.end());
  const bool is_whole =
      std::none_of(copied.begin(), end, [](const File* file) { return is_shorter(*file); });
  return is_whole || gather(target, wanted, stop, nullptr);
}

bool FileColumn::gather(std::byte* target, const WantedRows& wanted, const std::atomic<bool>& stop,
                        Copied* copied) const {
  bool is_copied = false;  // the first row is read: whether it is in memory is known then
  bool asked = false;
  std::chrono::steady_clock::time_point last;
  for (std::size_t done = 0; done < wanted.rows.size();) {
    if (stop.load(std::memory_order_relaxed)) {
      return false;
    }
    const File& file = file_of(static_cast<int64_t>(wanted.rows[done]));
    const Run run = run_of(file, wanted, done);
    const int64_t run_bytes = static_cast<int64_t>(run.rows) * row_bytes_;
    std::byte* place = target + static_cast<int64_t>(run.place) * row_bytes_;
    const bool is_mapped =
        copied != nullptr && !asked && file.mapped.is_mapped() && run_bytes <= kMostBytesMapped;
    if (is_mapped && is_copied &&
        file.mapped.copy(place, file.position_of(run.first), static_cast<std::size_t>(run_bytes))) {
      if (copied->empty() || copied->back() != &file) {
        copied->push_back(&file);
      }
      const auto now = std::chrono::steady_clock::now();
      asked = is_slow(now - last, run_bytes);
      last = now;
      if (asked) {
        read_ahead(wanted, done);
      }
    } else {
      int64_t read_bytes = 0;
      if (!asked && file.has_cached_reads) {
        read(file, place, run, Patience::kNone, stop, read_bytes);
        asked = read_bytes < run_bytes;
        if (asked) {
          read_ahead(wanted, done);
        }
      }
      read(file, place, run, Patience::kWaits, stop, read_bytes);
      if (read_bytes < run_bytes) {
        return false;  // stopped
      }
      if (is_mapped) {
        is_copied = true;
        last = std::chrono::steady_clock::now();
      }
    }
    swap_bytes(place, static_cast<std::size_t>(run_bytes), swap_bytes_);
    done += run.rows;
  }
  return true;
}

}  // namespace torchfeed
