// SPDX-License-Identifier: Apache-2.0
#include "core/image/store/tar_file.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "core/image/decode/image_source.h"
#include "core/image/store/tar_header.h"

namespace torchfeed {
namespace {

constexpr int64_t kMostNameBytes = 1 << 16;
constexpr int64_t kMostLabelBytes = 16;
constexpr int64_t kZerosAtOnce = 1 << 16;

bool is_zero(uint8_t byte) { return byte == 0; }

/// Returns a path for a message, which would end at a byte 0.
std::string printable(const std::string& path) {
  std::string text;
  for (const char letter : path) {
    text += letter == 0 ? std::string("\\u0000") : std::string(1, letter);
  }
  return text;
}

}  // namespace

/// The walk through the members.
class TarFile::Reader {
 public:
  explicit Reader(TarFile& file) : file_(file) {}

  void run() {
    if (file_.opened_bytes() == 0) {
      throw_unreadable("it is not a tar file, but empty");
    }
    TarBlock header{};
    while (read_header(header)) {
      take(header);
    }
    end_archive();
    if (file_.members_.empty() && file_.left_out_.empty()) {
      report_no_sample();
    }
  }

 private:
  /// Reads the next header. Zeros end an archive, but not the file: there may be another archive
  /// behind them, if several were joined by `cat`. They may be missing at the end of the file.
  ///
  /// @return false if there is no further one
  bool read_header(TarBlock& header) {
    bool has_ended = false;
    while (at_ < file_.opened_bytes()) {
      const int64_t bytes = std::min(file_.opened_bytes() - at_, kTarBlock);
      header.fill(0);
      file_.read(at_, std::span(header).first(static_cast<std::size_t>(bytes)));
      if (std::all_of(header.begin(), header.end(), is_zero)) {
        end_archive();
        has_ended = true;
        at_ = behind_zeros(at_);
      } else if (has_ended && !is_tar_header(header)) {
        return false;  // bytes that a program wrote after the end
      } else if (bytes < kTarBlock) {
        refuse_packed(header);
        throw_cut_off();
      } else {
        return true;
      }
    }
    return false;
  }

  /// Returns where the first block begins that is not zero.
  [[nodiscard]] int64_t behind_zeros(int64_t from) const {
    std::vector<uint8_t> piece(kZerosAtOnce);
    while (from < file_.opened_bytes()) {
      const int64_t bytes = std::min(file_.opened_bytes() - from, kZerosAtOnce);
      piece.resize(static_cast<std::size_t>(bytes));
      file_.read(from, piece);
      const auto other = std::find_if_not(piece.begin(), piece.end(), is_zero);
      if (other != piece.end()) {
        return from + (other - piece.begin()) / kTarBlock * kTarBlock;
      }
      from += bytes;
    }
    return from;
  }

  void end_archive() {
    if (is_announced_) {
      throw_unreadable("it ends behind an extended header, whose member is missing");
    }
    end_sample();
  }

  void report_no_sample() {
    std::string found = "it has no members, but zeros alone; write or download it again";
    if (seen_ > 0) {
      found = "it has no image (jpg, jpeg, png, webp) with a label (cls); members: " +
              std::to_string(seen_) + ", the first: " + printable(first_seen_);
    }
    if (!file_.skips_) {
      throw_unreadable(found + "; or leave it out");
    }
    file_.left_out_.push_back(file_.path() + ": " + found);
  }

  void take(const TarBlock& header) {
    const char type = tar_type(header);
    // GNU: the label of the volume; links, devices, folders and pipes
    const bool is_empty = type == 'V' || (type >= kHardLink && type <= '6');
    const std::optional<int64_t> stored = is_empty ? 0 : tar_size(header);
    if (!is_intact(header) || !stored) {
      refuse_packed(header);
      throw_unreadable("it is not a tar file, or damaged at byte " + std::to_string(at_));
    }
    const bool is_gnu_sparse = type == 'S';
    const bool is_file = type == '0' || type == 0 || type == '7' || is_gnu_sparse;
    const int64_t size = is_file && next_.size ? *next_.size : *stored;
    const int64_t begin = is_gnu_sparse ? behind_map(header) : at_ + kTarBlock;
    if (size < 0 || size > file_.opened_bytes() - begin) {
      throw_cut_off();
    }
    if (type == 'L') {  // GNU: the name of the next member
      next_.path = content(begin, size);
      next_.path->resize(::strnlen(next_.path->data(), next_.path->size()));
    } else if (type == 'x') {
      next_ = pax_records(content(begin, size));
    } else {
      const std::string path = next_.path ? *next_.path : tar_path(header);
      if (seen_++ == 0) {
        first_seen_ = path;
      }
      if (is_file) {
        next_.is_sparse |= is_gnu_sparse;
        add(path, begin, size);
      } else if (type == kHardLink || type == kSymbolicLink) {
        note_link(path, type);
      }
      next_ = {};
    }
    is_announced_ = type == 'L' || type == 'x';
    at_ = begin + (size + kTarBlock - 1) / kTarBlock * kTarBlock;
  }

  /// Returns where the data of a sparse member begin, behind the blocks of its map.
  [[nodiscard]] int64_t behind_map(const TarBlock& header) const {
    int64_t begin = at_ + kTarBlock;
    bool has_more = has_more_map(header);
    while (has_more) {
      if (file_.opened_bytes() - begin < kTarBlock) {
        throw_cut_off();
      }
      TarBlock map{};
      file_.read(begin, map);
      has_more = map_has_more_map(map);
      begin += kTarBlock;
    }
    return begin;
  }

  [[noreturn]] void throw_cut_off() const {
    throw_unreadable("it ends in the member at byte " + std::to_string(at_));
  }

  std::string content(int64_t from, int64_t bytes) const {
    if (bytes > kMostNameBytes) {
      throw_unreadable("an extended header of it has more than 65536 bytes");
    }
    std::vector<uint8_t> read(static_cast<std::size_t>(bytes));
    file_.read(from, read);
    return {read.begin(), read.end()};
  }

  /// The sample of a member, and the kind of the member.
  struct Name {
    std::string key;
    std::string extension;  // in lower case

    [[nodiscard]] bool is_image() const {
      return extension == "jpg" || extension == "jpeg" || extension == "png" || extension == "webp";
    }
    [[nodiscard]] bool is_label() const { return extension == "cls"; }
  };

  /// Returns nothing for a path without a key or an extension.
  static std::optional<Name> parse(const std::string& path) {
    const std::size_t dot = path.find('.', path.rfind('/') + 1);
    if (dot == std::string::npos || dot == path.rfind('/') + 1) {
      return std::nullopt;
    }
    Name name{path.substr(0, dot), path.substr(dot + 1)};
    std::transform(
        name.extension.begin(), name.extension.end(), name.extension.begin(), [](char letter) {
          return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
        });
    return name;
  }

  void enter(const std::string& key) {
    if (!has_members_ || key != key_) {
      end_sample();
      key_ = key;
    }
    has_members_ = true;
  }

  void add(const std::string& path, int64_t offset, int64_t bytes) {
    const std::optional<Name> name = parse(path);
    if (!name) {
      return;
    }
    enter(name->key);
    if (next_.is_sparse && (name->is_image() || name->is_label())) {
      require(false, "has a sparse " + name->extension + "; write the tar file without --sparse");
    } else if (name->is_image()) {
      require(!image_, "must have one image");
      require(bytes <= kMostImageBytes, "has more bytes than an image may have");
      image_ = {offset, bytes, 0};
    } else if (name->is_label()) {
      require(!label_, "must have one label");
      if (require(bytes <= kMostLabelBytes, kLabelRule)) {
        read_label(content(offset, bytes));
      }
    }
  }

  /// Notes an image or a label without content of its own, to name it if there is no other.
  void note_link(const std::string& path, char type) {
    const std::optional<Name> name = parse(path);
    if (!name || !(name->is_image() || name->is_label())) {
      return;
    }
    enter(name->key);
    std::string& link = name->is_label() ? label_link_ : image_link_;
    link = "; its " + name->extension +
           (type == kHardLink ? " is a hard link: write the tar file with --hard-dereference"
                              : " is a symbolic link: write the tar file with --dereference");
  }

  void read_label(std::string text) {
    constexpr const char* kBlanks = " \t\n\v\f\r";
    const std::size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
    uint32_t label = 0;
    const char* const end =
        text.data() + std::max(first, text.find_last_not_of(kBlanks) + 1);  // none: 0
    const auto [behind, error] = std::from_chars(text.data() + first, end, label);
    require(error == std::errc() && behind == end && label <= std::numeric_limits<int32_t>::max(),
            kLabelRule);
    label_ = label;
  }

  void end_sample() {
    if (has_members_ &&
        require(image_.has_value(), "must have one image (jpg, jpeg, png, webp)" + image_link_) &&
        require(label_.has_value(), "must have one label (cls)" + label_link_) && fault_.empty()) {
      image_->label = *label_;
      file_.members_.push_back(*image_);
    }
    if (!fault_.empty()) {
      file_.left_out_.push_back(file_.path() + ": " + fault_);
    }
    fault_.clear();
    has_members_ = false;
    image_link_.clear();
    label_link_.clear();
    image_.reset();
    label_.reset();
  }

  /// Leaves the sample out, or fails, if a condition does not hold; returns it.
  bool require(bool condition, const std::string& rule) {
    if (!condition && fault_.empty()) {
      fault_ = "sample " + printable(key_) + ' ' + rule;
      if (!file_.skips_) {
        throw_unreadable(fault_);
      }
    }
    return condition;
  }

  static constexpr const char* kLabelRule =
      "must have a label from 0 to 2147483647, in decimal digits";

  TarFile& file_;
  int64_t at_ = 0;
  int64_t seen_ = 0;  // members, with those that are left alone
  std::string first_seen_;
  PaxRecords next_;            // about the next member
  bool is_announced_ = false;  // by the member before
  std::string key_;            // of the sample
  bool has_members_ = false;
  std::string fault_;       // of the sample
  std::string image_link_;  // the message about a link in place of its image
  std::string label_link_;
  std::optional<Member> image_;
  std::optional<uint32_t> label_;
};

TarFile::TarFile(const std::string& path, bool skips) : ImageArchive(path), skips_(skips) {
  opening(path, [&] { Reader(*this).run(); });
}

RecordRow TarFile::row(std::size_t number) const {
  const Member& member = members_[number];
  RecordRow row;
  row.offset = member.offset;
  row.tiles.bytes = member.bytes;
  row.label = member.label;
  return row;
}

}  // namespace torchfeed
