// SPDX-License-Identifier: Apache-2.0
#include "core/image/store/tar_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/image/recipe/image_plan_reader.h"
#include "core/image/store/record_column.h"
#include "core/rows/row_table.h"
#include "feed/row_files.h"
#include "golden_folder.h"
#include "image/golden_lines.h"
#include "image/image_files.h"
#include "image/tar_bytes.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

using testing::append_header;
using testing::Bytes;
using testing::golden_image;
using testing::members_of;
using testing::problem_of;
using testing::set_checksum;
using testing::tar_of;

constexpr RandomKey kKey = {7, 3};
constexpr int64_t kRowBytes = 360;
const std::vector<double> kSteps = {0, 0, 1, 5, 10, 12, 0.08, 1, 0.75, 1.25, 6, 0.5};

/// A sample of a golden file.
struct Sample {
  int64_t label;
  std::string file;
};

std::map<std::string, std::vector<Sample>> golden_samples() {
  std::map<std::string, std::vector<Sample>> samples;
  for (auto& line : testing::golden_lines("images/tars.txt", "sample")) {
    const std::string tar = line.word();
    line.word();  // the key
    line.word();  // the extension
    const int64_t label = line.integer();
    samples[tar].push_back({label, line.word()});
  }
  return samples;
}

std::string golden_path(const std::string& name) {
  return (testing::golden_folder() / "images" / name).string();
}

TEST(TarFile, SamplesEqualThoseOfWebDataset) {
  const auto tars = golden_samples();
  EXPECT_EQ(3U, tars.size());
  for (const auto& [tar, samples] : tars) {
    const TarFile file(golden_path(tar));
    ASSERT_EQ(samples.size(), file.images()) << tar;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const RecordRow row = file.row(i);
      Bytes bytes(static_cast<std::size_t>(row.bytes()));
      file.read(row.offset, bytes);
      EXPECT_EQ(golden_image(samples[i].file), bytes) << tar << ' ' << i;
      EXPECT_EQ(samples[i].label, row.label) << tar << ' ' << i;
    }
  }
}

TEST(TarFile, RowsEqualThoseOfFiles) {
  std::vector<SharedImages> files;
  std::vector<std::string> names;
  for (const auto& [tar, samples] : golden_samples()) {
    files.push_back(std::make_shared<const TarFile>(golden_path(tar)));
    for (const Sample& sample : samples) {
      names.push_back(sample.file);
    }
  }
  const SharedTable table = table_of({std::make_shared<const RecordColumn>(
      std::move(files), read_plan(kSteps), RowShape{0, {3, 10, 12}, kRowBytes})});
  ASSERT_EQ(static_cast<int64_t>(names.size()), table->rows());
  const Rows rows = {11, 0, 5, 2, 7, 9, 1};
  Bytes batch(rows.size() * kRowBytes);
  const std::atomic<bool> stop{false};
  const std::array<std::byte*, 1> targets = {reinterpret_cast<std::byte*>(batch.data())};
  EXPECT_TRUE(table->gather(targets, {rows, {}, {}, kKey}, stop, Stores::kCached));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Bytes expected(kRowBytes);
    SampleWords words(kKey.seed, kKey.epoch, static_cast<int64_t>(rows[i]));
    make_row(read_plan(kSteps), golden_image(names[rows[i]]), words,
             reinterpret_cast<std::byte*>(expected.data()));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), batch.data() + i * kRowBytes)) << i;
  }
}

TEST(TarFile, ASampleHasOneImageAndOneLabel) {
  const RowFiles folder;
  const auto problem = [&](const std::vector<std::pair<std::string, std::string>>& members) {
    return problem_of(folder.write("a", tar_of(members)));
  };
  EXPECT_EQ("", problem({{"x/1.jpg", "J"}, {"x/1.cls", " 3\r\n"}, {"2.cls", "4"}, {"2.png", ""}}));
  EXPECT_EQ("sample 1 must have one label (cls)", problem({{"1.jpg", ""}, {"2.cls", "1"}}));
  EXPECT_EQ("sample 2 must have one image (jpg, jpeg, png, webp)",
            problem({{"1.jpg", ""}, {"1.cls", "0"}, {"2.cls", "1"}, {"2.txt", ""}}));
  EXPECT_EQ("sample 1 must have one image", problem({{"1.jpg", ""}, {"1.png", ""}}));
  EXPECT_EQ("sample 1 must have one label", problem({{"1.cls", "1"}, {"1.cls", "1"}}));
  for (const char* label :
       {"", " \n", "-1", "cat", "1.5", "3 17", "3\n17\n", "2147483648", "99999999999999999999"}) {
    EXPECT_NE("", problem({{"1.jpg", ""}, {"1.cls", label}})) << label;
  }
}

TEST(TarFile, SamplesThatAreNoneAreLeftOutOnRequest) {
  const RowFiles folder;
  const std::string path = folder.write("a", tar_of({{"1.jpg", ""},
                                                     {"2.cls", "1"},
                                                     {"3.jpg", "J"},
                                                     {"3.cls", "3"},
                                                     {"4.cls", "cat"},
                                                     {"4.jpg", ""},
                                                     {"5.png", ""},
                                                     {"5.jpg", ""},
                                                     {"5.cls", "1"},
                                                     {"6.cls", std::string(99, '1')},
                                                     {"6.jpg", ""},
                                                     {"7.cls", "7"},
                                                     {"7.webp", "W"}}));
  EXPECT_EQ("sample 1 must have one label (cls)", problem_of(path));
  const TarFile file(path, /*skips=*/true);
  ASSERT_EQ(2U, file.images());
  EXPECT_EQ(3, file.row(0).label);
  EXPECT_EQ(7, file.row(1).label);
  EXPECT_EQ((std::vector<std::string>{
                path + ": sample 1 must have one label (cls)",
                path + ": sample 2 must have one image (jpg, jpeg, png, webp)",
                path + ": sample 4 must have a label from 0 to 2147483647, in decimal digits",
                path + ": sample 5 must have one image",
                path + ": sample 6 must have a label from 0 to 2147483647, in decimal digits"}),
            file.left_out());
}

TEST(TarFile, TheZerosAtTheEndMayBeMissing) {
  const RowFiles folder;
  for (const auto& [tar, samples] : golden_samples()) {
    Bytes bytes = golden_image(tar);
    while (bytes.back() == 0) {
      bytes.pop_back();
    }
    for (const std::size_t length : {bytes.size(), (bytes.size() + 511) / 512 * 512}) {
      bytes.resize(length);
      EXPECT_EQ(samples.size(), TarFile(folder.write("a", bytes)).images()) << tar;
    }
  }
}

TEST(TarFile, PackedFilesAreNamedWithTheRemedy) {
  const RowFiles folder;
  const auto packed = [&](std::string_view magic, std::size_t bytes) {
    Bytes file(magic.begin(), magic.end());
    file.resize(bytes, 'x');
    return problem_of(folder.write("a", file));
  };
  for (const std::size_t bytes : {100U, 2000U}) {
    EXPECT_EQ(
        "it is compressed by gzip, but samples of a tar file are read in any order; unpack it with "
        "gunzip",
        packed("\x1f\x8b\x08", bytes));
    EXPECT_NE(std::string::npos, packed("\x28\xb5\x2f\xfd", bytes).find("unzstd"));
    EXPECT_NE(std::string::npos, packed("BZh9", bytes).find("bunzip2"));
    EXPECT_NE(std::string::npos, packed("\xfd"
                                        "7zXZ",
                                        bytes)
                                     .find("unxz"));
    EXPECT_NE(std::string::npos, packed("\x04\x22\x4d\x18", bytes).find("unlz4"));
    EXPECT_NE(std::string::npos, packed("\x1f\x9d", bytes).find("uncompress"));
  }
  EXPECT_EQ("", problem_of(folder.write("b", tar_of({{"BZh.cls", "1"}, {"BZh.jpg", ""}}))));
}

/// Files of GNU's tar --sparse: 0.jpg has holes, 0.cls none, and 1.jpg and 1.cls follow.
TEST(TarFile, SparseMembersAreNamed) {
  for (const char* tar : {"sparse_gnu.tar", "sparse_extended.tar", "sparse_pax_0_0.tar",
                          "sparse_pax_0_1.tar", "sparse_pax_1_0.tar"}) {
    const std::string path = golden_path(std::string("tars/") + tar);
    EXPECT_EQ("sample 0 has a sparse jpg; write the tar file without --sparse", problem_of(path))
        << tar;
    const TarFile file(path, /*skips=*/true);
    ASSERT_EQ(1U, file.images()) << tar;
    EXPECT_EQ(5, file.row(0).label) << tar;
    EXPECT_EQ(1U, file.left_out().size()) << tar;
  }
}

/// Two samples, and the members of a third in place of one of which there is a link. A program may
/// write the size of the content that a link stands for, which does not follow.
Bytes tar_with_link(const std::string& member, const std::string& link, char type) {
  Bytes tar = members_of({{"1.jpg", "J"}, {"1.cls", "1"}, {member, "2"}});
  append_header(tar, link, 4000, type);
  const Bytes rest = tar_of({{"3.jpg", "J"}, {"3.cls", "3"}});
  tar.insert(tar.end(), rest.begin(), rest.end());
  return tar;
}

TEST(TarFile, LinksAreNamedWithTheRemedy) {
  const RowFiles folder;
  const auto expect = [&](const Bytes& tar, const std::string& fault) {
    const std::string path = folder.write("a", tar);
    EXPECT_EQ(fault, problem_of(path));
    const TarFile file(path, /*skips=*/true);
    ASSERT_EQ(2U, file.images());
    EXPECT_EQ(1, file.row(0).label);
    EXPECT_EQ(3, file.row(1).label);
    EXPECT_EQ((std::vector<std::string>{path + ": " + fault}), file.left_out());
  };
  const std::string no_image = "sample 2 must have one image (jpg, jpeg, png, webp)";
  const std::string no_label = "sample 2 must have one label (cls)";
  const std::string hard = "; its jpg is a hard link: write the tar file with --hard-dereference";
  expect(tar_with_link("2.cls", "2.jpg", '1'), no_image + hard);
  expect(tar_with_link("2.cls", "2.PNG", '2'),
         no_image + "; its png is a symbolic link: write the tar file with --dereference");
  expect(tar_with_link("2.jpg", "2.cls", '2'),
         no_label + "; its cls is a symbolic link: write the tar file with --dereference");
  expect(tar_with_link("none", "2.jpg", '1'), no_image + hard);
  expect(tar_with_link("2.cls", "2.txt", '2'), no_image);
}

/// As WebDataset does, which passes over links.
TEST(TarFile, ALinkBesideAWholeSampleIsPassedOver) {
  const RowFiles folder;
  for (const char* link : {"1.png", "1.cls", "2.txt", "folder/none", "folder/.jpg"}) {
    Bytes tar = members_of({{"1.jpg", "J"}});
    append_header(tar, link, 0, '2');
    const Bytes rest = tar_of({{"1.cls", "1"}, {"3.jpg", "J"}, {"3.cls", "3"}});
    tar.insert(tar.end(), rest.begin(), rest.end());
    EXPECT_EQ(2U, TarFile(folder.write("a", tar)).images()) << link;
  }
}

TEST(TarFile, OtherFilesAreRefused) {
  const RowFiles folder;
  EXPECT_EQ("No such file or directory", problem_of(folder.path() + "/none"));
  EXPECT_EQ("it is not a regular file", problem_of(folder.path()));
  EXPECT_EQ("it is not a tar file, or damaged at byte 0",
            problem_of(folder.write("a", std::vector<char>(600, 'x'))));
  EXPECT_EQ("it is not a tar file, but empty", problem_of(folder.write("b", std::vector<char>())));
}

TEST(TarFile, AFileThatWasNotDownloadedIsNamedWithTheRemedy) {
  const RowFiles folder;
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n";
  for (const std::size_t bytes : {pointer.size(), std::size_t{2000}}) {
    Bytes file(pointer.begin(), pointer.end());
    file.resize(bytes, '\n');
    EXPECT_EQ("it is a Git LFS pointer in the place of the file; get the file by git lfs pull",
              problem_of(folder.write("a", file)));
  }
}

TEST(TarFile, AnExtendedHeaderWithoutItsMemberIsRefused) {
  const Bytes whole = golden_image("pax.tar");
  std::size_t extended = 0;
  while (whole.at(extended + 156) != 'x') {
    extended += 512;
  }
  const std::size_t end = extended + 1024;
  const RowFiles folder;
  for (const std::size_t zeros : {0, 1024}) {
    Bytes cut(whole.begin(), whole.begin() + static_cast<long>(end));
    cut.resize(end + zeros);
    EXPECT_EQ("it ends behind an extended header, whose member is missing",
              problem_of(folder.write("a", cut)));
  }
}

TEST(TarFile, TheLabelOfAVolumeIsPassedOver) {
  std::vector<char> tar(512);
  const std::string name = "volume";
  std::copy(name.begin(), name.end(), tar.begin());
  tar[156] = 'V';
  std::fill_n(tar.begin() + 148, 8, ' ');
  unsigned sum = 0;
  for (const char byte : tar) {
    sum += static_cast<unsigned char>(byte);
  }
  std::snprintf(tar.data() + 148, 8, "%06o", sum);
  const Bytes rest = golden_image("gnu.tar");
  tar.insert(tar.end(), rest.begin(), rest.end());
  const RowFiles folder;
  const TarFile labelled(folder.write("labelled", tar));
  EXPECT_EQ(TarFile(golden_path("gnu.tar")).images(), labelled.images());
}

/// A file that was cut between two samples is one that ends without zeros.
TEST(TarFile, APrefixFailsOrHasTheFirstSamples) {
  const RowFiles folder;
  const auto samples = golden_samples();
  for (const auto& [tar, expected] : samples) {
    const Bytes whole = golden_image(tar);
    for (std::size_t length = 0; length < whole.size(); length += 64) {
      const std::string path =
          folder.write("a", Bytes(whole.begin(), whole.begin() + static_cast<long>(length)));
      if (problem_of(path).empty()) {
        const TarFile file(path);
        ASSERT_LE(file.images(), expected.size());
        for (std::size_t i = 0; i < file.images(); ++i) {
          EXPECT_EQ(expected[i].label, file.row(i).label);
          EXPECT_LE(file.row(i).offset + file.row(i).bytes(), static_cast<int64_t>(length));
        }
      }
    }
  }
}

/// A longer run: the number of mutations of each file in `TORCHFEED_IMAGE_MUTATIONS`.
TEST(TarFile, MutatedFilesFailWithATypedErrorOrHaveImagesInside) {
  const char* const chosen = std::getenv("TORCHFEED_IMAGE_MUTATIONS");
  const int mutations = chosen == nullptr ? 100 : std::atoi(chosen);
  const RowFiles folder;
  std::mt19937 random(9);
  for (const char* tar : {"ustar.tar", "gnu.tar", "pax.tar"}) {
    const Bytes whole = golden_image(tar);
    for (int i = 0; i < mutations; ++i) {
      Bytes mutated = whole;
      const std::size_t at = random() % whole.size() / 512 * 512;
      for (std::size_t change = 0; change < 1 + random() % 3; ++change) {
        mutated[at + random() % 512] = static_cast<uint8_t>(random());
      }
      set_checksum(mutated.data() + at);
      const std::string path = folder.write("a", mutated);
      if (problem_of(path).empty()) {
        const TarFile file(path);
        for (std::size_t n = 0; n < file.images(); ++n) {
          EXPECT_LE(file.row(n).offset + file.row(n).bytes(), static_cast<int64_t>(whole.size()));
        }
      }
    }
  }
}

}  // namespace
}  // namespace torchfeed
