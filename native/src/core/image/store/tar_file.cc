// SPDX-License-Identifier: Apache-2.0
#include "core/image/store/tar_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "core/image/decode/image_source.h"

namespace torchfeed {
namespace {

constexpr int64_t kBlock = 512;
constexpr int64_t kMostNameBytes = 1 << 16;
constexpr int64_t kMostLabelBytes = 16;

using Block = std::array<uint8_t, kBlock>;

/// The fields of a header (POSIX.1-1988, ustar).
constexpr std::size_t kNameBytes = 100;
constexpr std::size_t kSizeAt = 124;
constexpr std::size_t kSizeBytes = 12;
constexpr std::size_t kTarChecksumAt = 148;
constexpr std::size_t kChecksumBytes = 8;
constexpr std::size_t kTypeAt = 156;
constexpr std::size_t kMagicAt = 257;
constexpr std::size_t kPrefixAt = 345;
constexpr std::size_t kPrefixBytes = 155;

/// Types of members.
constexpr char kHardLink = '1';
constexpr char kSymbolicLink = '2';

/// The flags of GNU's sparse members: whether a further block of their map follows a header, or
/// such a block.
constexpr std::size_t kMoreMapAt = 482;
constexpr std::size_t kMoreMapOfMapAt = 504;

/// Returns the text of a field, up to its first 0.
std::string_view text(const Block& header, std::size_t at, std::size_t bytes) {
  const auto* const begin = reinterpret_cast<const char*>(header.data() + at);
  return {begin, ::strnlen(begin, bytes)};
}

/// Returns a number in octal digits between spaces, or, after a byte 0x80, in binary.
std::optional<int64_t> number(const Block& header, std::size_t at, std::size_t bytes) {
  if (header[at] == 0x80) {
    int64_t value = 0;
    for (std::size_t i = 1; i < bytes; ++i) {
      if (value > std::numeric_limits<int64_t>::max() >> 8) {
        return std::nullopt;
      }
      value = value << 8 | header[at + i];
    }
    return value;
  }
  std::string_view digits = text(header, at, bytes);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  digits = digits.substr(0, digits.find(' '));
  int64_t value = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  if (end.ec != std::errc() || end.ptr != digits.data() + digits.size() || value < 0) {
    return std::nullopt;
  }
  return value;
}

/// Returns whether the sum of the header's bytes, its own counted as spaces, is the stored one.
bool is_intact(const Block& header) {
  int64_t sum = std::accumulate(header.begin(), header.end(), int64_t{0});
  for (std::size_t i = 0; i < kChecksumBytes; ++i) {
    sum += ' ' - header[kTarChecksumAt + i];
  }
  return number(header, kTarChecksumAt, kChecksumBytes) == sum;
}

/// The statements of a pax header about the next member.
struct PaxRecords {
  std::optional<std::string> path;
  std::optional<int64_t> size;
  bool is_sparse = false;
  std::optional<std::string> sparse_path;  // in place of one that GNU's tar makes up
};

/// Reads records of the form `LENGTH KEY=VALUE\n`, whose length counts all of it.
PaxRecords pax_records(std::string_view text) {
  PaxRecords records;
  while (!text.empty()) {
    std::size_t length = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto key = static_cast<std::size_t>(end.ptr - text.data()) + 1;
    if (end.ec != std::errc() || length > text.size() || length <= key) {
      throw_unreadable("an extended header of it is damaged");
    }
    const std::string_view record = text.substr(key, length - key - 1);
    if (record.starts_with("path=")) {
      records.path = record.substr(5);
    } else if (record.starts_with("GNU.sparse.")) {
      records.is_sparse = true;
      constexpr std::string_view kName = "GNU.sparse.name=";
      if (record.starts_with(kName)) {
        records.sparse_path = record.substr(kName.size());
      }
    } else if (record.starts_with("size=")) {
      int64_t size = 0;
      std::from_chars(record.data() + 5, record.data() + record.size(), size);
      records.size = size;
    }
    text.remove_prefix(length);
  }
  if (records.sparse_path) {
    records.path = records.sparse_path;
  }
  return records;
}

/// The first bytes of a file that a program packed as a whole, and its names.
struct Packing {
  std::string_view magic;
  std::string_view program;
  std::string_view remedy;
};

constexpr std::array<Packing, 4> kPackings{{{"\x1f\x8b", "gzip", "gunzip"},
                                            {"\x28\xb5\x2f\xfd", "zstd", "unzstd"},
                                            {"BZh", "bzip2", "bunzip2"},
                                            {"\xfd"
                                             "7zXZ",
                                             "xz", "unxz"}}};

/// Refuses a block that is no header if it begins as a packed file, or one that stands in for it.
void refuse_other(const Block& header) {
  refuse_placeholder(header);
  const std::string_view bytes(reinterpret_cast<const char*>(header.data()), header.size());
  for (const Packing& packing : kPackings) {
    if (bytes.starts_with(packing.magic)) {
      throw_unreadable("it is compressed by " + std::string(packing.program) +
                       ", but samples of a tar file are read in any order; unpack it with " +
                       std::string(packing.remedy));
    }
  }
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
    Block header{};
    while (true) {
      if (at_ >= file_.opened_bytes()) {
        break;  // without the zeros at the end, as some programs write it
      }
      const int64_t left = file_.opened_bytes() - at_;
      file_.read(at_, std::span(header).first(static_cast<std::size_t>(std::min(left, kBlock))));
      if (left < kBlock) {
        refuse_other(header);
        throw_cut_off();
      }
      if (std::all_of(header.begin(), header.end(), [](uint8_t byte) { return byte == 0; })) {
        break;  // the end
      }
      take(header);
    }
    if (is_announced_) {
      throw_unreadable("it ends behind an extended header, whose member is missing");
    }
    end_sample();
  }

 private:
  void take(const Block& header) {
    const char type = static_cast<char>(header[kTypeAt]);
    // GNU: the label of the volume; links, devices, folders and pipes
    const bool is_empty = type == 'V' || (type >= kHardLink && type <= '6');
    const std::optional<int64_t> stored = is_empty ? 0 : number(header, kSizeAt, kSizeBytes);
    if (!is_intact(header) || !stored) {
      refuse_other(header);
      throw_unreadable("it is not a tar file, or damaged at byte " + std::to_string(at_));
    }
    const bool is_gnu_sparse = type == 'S';
    const bool is_file = type == '0' || type == 0 || type == '7' || is_gnu_sparse;
    const int64_t size = is_file && next_.size ? *next_.size : *stored;
    const int64_t begin = is_gnu_sparse ? behind_map(header) : at_ + kBlock;
    if (size < 0 || size > file_.opened_bytes() - begin) {
      throw_cut_off();
    }
    if (type == 'L') {  // GNU: the name of the next member
      next_.path = content(begin, size);
      next_.path->resize(::strnlen(next_.path->data(), next_.path->size()));
    } else if (type == 'x') {
      next_ = pax_records(content(begin, size));
    } else {
      const std::string path = next_.path ? *next_.path : name_of(header);
      if (is_file) {
        next_.is_sparse |= is_gnu_sparse;
        add(path, begin, size);
      } else if (type == kHardLink || type == kSymbolicLink) {
        note_link(path, type);
      }
      next_ = {};
    }
    is_announced_ = type == 'L' || type == 'x';
    at_ = begin + (size + kBlock - 1) / kBlock * kBlock;
  }

  /// Returns where the data of a sparse member begin, behind the blocks of its map.
  [[nodiscard]] int64_t behind_map(const Block& header) const {
    int64_t begin = at_ + kBlock;
    bool has_more = header[kMoreMapAt] != 0;
    while (has_more) {
      if (file_.opened_bytes() - begin < kBlock) {
        throw_cut_off();
      }
      Block map{};
      file_.read(begin, map);
      has_more = map[kMoreMapOfMapAt] != 0;
      begin += kBlock;
    }
    return begin;
  }

  [[noreturn]] void throw_cut_off() const {
    throw_unreadable("it ends in the member at byte " + std::to_string(at_));
  }

  static std::string name_of(const Block& header) {
    std::string name(text(header, 0, kNameBytes));
    const bool has_prefix = text(header, kMagicAt, 6) == "ustar" && header[kPrefixAt] != 0;
    return has_prefix ? std::string(text(header, kPrefixAt, kPrefixBytes)) + '/' + name : name;
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
    if (key != key_) {
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
      fault_ = "sample " + key_ + ' ' + rule;
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
