// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/image/store/tar_file.h"
#include "feed/row_files.h"
#include "image/tar_bytes.h"

namespace torchfeed {
namespace {

using testing::Bytes;
using testing::problem_of;
using testing::tar_of;

Bytes joined(const Bytes& first, std::size_t zeros, const Bytes& second) {
  Bytes tar = first;
  tar.resize(tar.size() + zeros);
  tar.insert(tar.end(), second.begin(), second.end());
  return tar;
}

std::vector<uint32_t> labels_of(const std::string& path) {
  const TarFile file(path);
  std::vector<uint32_t> labels;
  for (std::size_t i = 0; i < file.images(); ++i) {
    labels.push_back(static_cast<uint32_t>(file.row(i).label));
  }
  return labels;
}

/// As by `cat a.tar b.tar c.tar`, and as `tar --ignore-zeros` reads it.
TEST(TarEnds, JoinedFilesAreReadToTheEndOfTheLast) {
  const RowFiles folder;
  const Bytes first = tar_of({{"1.jpg", "J"}, {"1.cls", "3"}, {"2.jpg", "J"}, {"2.cls", "4"}});
  const Bytes second = tar_of({{"2.jpg", "J"}, {"2.cls", "5"}});  // another sample of the same key
  for (const std::size_t zeros : {0U, 512U, 8192U, 65536U, 200 * 512U}) {
    const Bytes two = joined(first, zeros, second);
    EXPECT_EQ((std::vector<uint32_t>{3, 4, 5}), labels_of(folder.write("a", two))) << zeros;
    EXPECT_EQ((std::vector<uint32_t>{3, 4, 5, 3, 4}),
              labels_of(folder.write("a", joined(two, zeros, first))))
        << zeros;
  }
}

TEST(TarEnds, BytesBehindTheEndThatAreNoHeaderArePassedOver) {
  const RowFiles folder;
  const Bytes tar = tar_of({{"1.jpg", "J"}, {"1.cls", "3"}});
  for (const std::size_t bytes : {1U, 511U, 512U, 5000U}) {
    const Bytes behind(bytes, 'x');
    EXPECT_EQ((std::vector<uint32_t>{3}), labels_of(folder.write("a", joined(tar, 0, behind))));
  }
  EXPECT_EQ((std::vector<uint32_t>{3}), labels_of(folder.write("a", joined(tar, 100, {}))));
}

/// Whatever follows the first file is read or refused: nothing is lost in silence.
TEST(TarEnds, AJoinedFileThatIsDamagedIsRefused) {
  const RowFiles folder;
  const Bytes whole = tar_of({{"1.jpg", "J"}, {"1.cls", "3"}});
  Bytes second = whole;
  const std::string magic = "ustar";
  std::copy(magic.begin(), magic.end(), second.begin() + 257);
  testing::set_checksum(second.data());
  EXPECT_EQ((std::vector<uint32_t>{3, 3}), labels_of(folder.write("a", joined(whole, 0, second))));
  Bytes damaged = second;
  damaged[0] = 'x';
  EXPECT_EQ("it is not a tar file, or damaged at byte " + std::to_string(whole.size()),
            problem_of(folder.write("a", joined(whole, 0, damaged))));
  for (const std::size_t left : {300U, 511U, 512U, 513U}) {
    const Bytes cut(second.begin(), second.begin() + static_cast<long>(left));
    EXPECT_NE("", problem_of(folder.write("a", joined(whole, 0, cut)))) << left;
  }
}

TEST(TarEnds, ZerosThatAreNoWholeBlockEndAFileToo) {
  const RowFiles folder;
  Bytes tar = testing::members_of({{"1.jpg", "J"}, {"1.cls", "3"}});
  tar.resize(tar.size() + 100);
  EXPECT_EQ((std::vector<uint32_t>{3}), labels_of(folder.write("a", tar)));
  tar.back() = 1;
  EXPECT_EQ("it ends in the member at byte 2048", problem_of(folder.write("a", tar)));
}

TEST(TarEnds, AFileWithoutASampleIsRefusedOrLeftOut) {
  const RowFiles folder;
  const auto expect = [&](const Bytes& tar, const std::string& found) {
    const std::string path = folder.write("a", tar);
    EXPECT_EQ(found + "; or leave it out", problem_of(path));
    const TarFile file(path, /*skips=*/true);
    EXPECT_EQ(0U, file.images());
    EXPECT_EQ((std::vector<std::string>{path + ": " + found}), file.left_out());
  };
  const std::string zeros = "it has no members, but zeros alone; write or download it again";
  expect(Bytes(512), zeros);
  expect(Bytes(10240), zeros);
  expect(Bytes(99), zeros);
  const std::string none = "it has no image (jpg, jpeg, png, webp) with a label (cls); members: ";
  Bytes folders;
  testing::append_header(folders, "train/", 0, '5');
  testing::append_header(folders, "train/cat/", 0, '5');
  expect(folders, none + "2, the first: train/");
  expect(tar_of({{"README", "none"}}), none + "1, the first: README");
}

/// A message ends at a byte 0, which only an extended header can have in a path.
TEST(TarEnds, APathWithAZeroDoesNotCutTheMessage) {
  const RowFiles folder;
  const std::string path("a\0b.jpg", 7);
  const std::string record = "16 path=" + path + '\n';
  ASSERT_EQ(16U, record.size());
  Bytes tar;
  testing::append_header(tar, "pax", record.size(), 'x');
  tar.insert(tar.end(), record.begin(), record.end());
  tar.resize(1024);
  const Bytes rest = tar_of({{"none", "J"}});
  EXPECT_EQ("sample a\\u0000b must have one label (cls)",
            problem_of(folder.write("a", joined(tar, 0, rest))));
}

/// As by HP-UX and Sun; the names of older tars have such bytes in Latin-1.
TEST(TarEnds, AChecksumOfSignedBytesIsRead) {
  const RowFiles folder;
  Bytes tar = tar_of({{"\xc4.jpg", "J"}, {"\xc4.cls", "7"}});
  for (const std::size_t at : {0U, 1024U}) {
    const auto sum = std::strtol(reinterpret_cast<const char*>(tar.data() + at + 148), nullptr, 8);
    std::snprintf(reinterpret_cast<char*>(tar.data() + at + 148), 8, "%06lo", sum - 256);
  }
  EXPECT_EQ((std::vector<uint32_t>{7}), labels_of(folder.write("a", tar)));
  std::snprintf(reinterpret_cast<char*>(tar.data() + 148), 8, "%06o", 4321);
  EXPECT_EQ("it is not a tar file, or damaged at byte 0", problem_of(folder.write("a", tar)));
}

/// Samples with a fault are listed one by one, not the file.
TEST(TarEnds, AFileOfSamplesWithFaultsHasNoFaultOfItsOwn) {
  const RowFiles folder;
  const std::string path = folder.write("a", tar_of({{"1.jpg", "J"}}));
  const TarFile file(path, /*skips=*/true);
  EXPECT_EQ(1U, file.left_out().size());
}

}  // namespace
}  // namespace torchfeed
