// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/image/store/image_archive.h"

namespace torchfeed {

/// A tar file in the form of WebDataset: adjacent members whose paths agree up to the first dot of
/// the name are a sample. A sample has one image (`jpg`, `jpeg`, `png` or `webp`, ignoring case)
/// and its label, a number in decimal digits (`cls`); other members are left alone. A link is
/// neither an image nor a label, but named where there is no other. Several such files that were
/// joined are read to the end of the last.
class TarFile final : public ImageArchive {
 public:
  /// Opens a file and reads the headers of its members and the labels.
  ///
  /// @param skips  whether samples that are not as above, and a file without any, are left out
  /// @throws Error  of code `kUnreadable` if it cannot be opened, is damaged, has no sample, or a
  ///                sample is not as above
  explicit TarFile(const std::string& path, bool skips = false);

  /// Returns the file, the key and the fault of each sample that was left out; for a file without
  /// any sample, its members.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

  [[nodiscard]] std::size_t images() const override { return members_.size(); }
  [[nodiscard]] RecordRow row(std::size_t number) const override;

 private:
  struct Member {
    int64_t offset;
    int64_t bytes;
    uint32_t label;
  };
  class Reader;

  const bool skips_;
  std::vector<Member> members_;
  std::vector<std::string> left_out_;
};

}  // namespace torchfeed
