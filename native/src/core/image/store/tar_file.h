// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/image/store/picture_file.h"

namespace torchfeed {

/// A tar file in the form of WebDataset: adjacent members whose paths agree up to the first dot of
/// the name are a sample. A sample has one picture (`jpg`, `jpeg`, `png` or `webp`, ignoring case)
/// and its label, a number in decimal digits (`cls`); other members are left alone.
class TarFile final : public PictureFile {
 public:
  /// Opens a file and reads the headers of its members and the labels.
  ///
  /// @throws Error  of code `kUnreadable` if it cannot be opened, is damaged, or a sample lacks its
  ///                picture or label
  explicit TarFile(const std::string& path);

  [[nodiscard]] std::size_t pictures() const override { return members_.size(); }
  [[nodiscard]] RecordRow row(std::size_t number) const override;

 private:
  struct Member {
    int64_t offset;
    int64_t bytes;
    uint32_t label;
  };
  class Reader;

  std::vector<Member> members_;
};

}  // namespace torchfeed
