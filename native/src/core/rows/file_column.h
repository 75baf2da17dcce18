// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/file_descriptor.h"
#include "core/mapped_file.h"
#include "core/rows/wanted_rows.h"

namespace torchfeed {

/// Rows of equal length, stored one after another in files that stay open until the column is
/// destroyed. Short rows are copied from mapped files, others are read. A truncated file is an
/// error. Thread-safe once all files are added.
class FileColumn {
 public:
  /// @param row_bytes   length of a row, at least 0
  /// @param swap_bytes  length of the units whose bytes are reversed: 1 (none), 2, 4 or 8
  FileColumn(int64_t row_bytes, int64_t swap_bytes);
  FileColumn(const FileColumn&) = delete;
  FileColumn& operator=(const FileColumn&) = delete;

  /// Opens a regular file whose row `i` begins at `offset_bytes + i * stride_bytes`. Rows may
  /// overlap.
  void add_file(const std::string& path, int64_t offset_bytes, int64_t stride_bytes, int64_t rows);

  [[nodiscard]] int64_t rows() const { return files_.empty() ? 0 : files_.back().end; }
  [[nodiscard]] int64_t row_bytes() const { return row_bytes_; }

  /// Reads each wanted row into its place in `target`, which consists of dense rows. At the first
  /// row that is not in the page cache, all remaining rows are requested from the disk at once.
  /// Stops and returns false once `stop` is set.
  /// @throws UnreadableRow  if a file has become too short, or a read fails
  bool gather(std::byte* target, const WantedRows& wanted, const std::atomic<bool>& stop) const;

 private:
  struct File {
    std::string path;
    FileDescriptor descriptor;
    bool has_cached_reads;  // whether reads need not wait for a disk
    int64_t opened_bytes;
    int64_t offset_bytes;
    int64_t stride_bytes;
    int64_t first;  // the column's number of this file's first row
    int64_t end;
    MappedFile mapped;  // if rows are short

    [[nodiscard]] int64_t position_of(int64_t row) const {
      return offset_bytes + (row - first) * stride_bytes;
    }
  };

  /// Rows that are adjacent both in the file and in the target.
  struct Run {
    int64_t first;  // the column's number of the first row
    std::size_t place;
    std::size_t rows;
  };

  /// The files of a gather from whose mapped bytes rows were copied.
  using Copied = std::vector<const File*>;

  [[nodiscard]] const File& file_of(int64_t row) const;
  /// Returns the run with which the wanted rows continue after the first `done`.
  [[nodiscard]] Run run_of(const File& file, const WantedRows& wanted, std::size_t done) const;
  enum class Patience { kNone, kWaits };

  /// Gathers rows; copies from mapped files, and notes those, unless `copied` is null.
  bool gather(std::byte* target, const WantedRows& wanted, const std::atomic<bool>& stop,
              Copied* copied) const;

  /// Reads the rest of a run after its first `done` bytes; with `Patience::kNone` only bytes in the
  /// page cache. Stops once `stop` is set.
  void read(const File& file, std::byte* target, const Run& run, Patience patience,
            const std::atomic<bool>& stop, int64_t& done) const;
  /// Asks the operating system to start reading all wanted rows but the first `done`.
  void read_ahead(const WantedRows& wanted, std::size_t done) const;
  [[nodiscard]] std::string described(const File& file, int64_t row) const;
  /// Returns whether a file is shorter than when it was opened.
  [[nodiscard]] static bool is_shorter(const File& file);
  [[nodiscard]] static std::string shrunk(const File& file);

  const int64_t row_bytes_;
  const int64_t swap_bytes_;
  std::vector<File> files_;
};

}  // namespace torchfeed
