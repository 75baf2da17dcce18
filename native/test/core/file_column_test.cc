// SPDX-License-Identifier: Apache-2.0
#include "core/rows/file_column.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "feed/row_files.h"

namespace torchfeed {
namespace {

const std::atomic<bool> kGoOn{false};

using Bytes = std::vector<unsigned char>;

Bytes counted(size_t length) {
  Bytes bytes(length);
  for (size_t i = 0; i < length; ++i) {
    bytes[i] = static_cast<unsigned char>(i * 31 + i / 256);
  }
  return bytes;
}

Bytes gathered(const FileColumn& column, const std::vector<size_t>& rows) {
  Bytes target(rows.size() * static_cast<size_t>(column.row_bytes()) + 1, 0xEE);
  EXPECT_TRUE(column.gather(reinterpret_cast<std::byte*>(target.data()), {rows}, kGoOn));
  EXPECT_EQ(target.back(), 0xEE) << "wrote beyond the last row";
  target.pop_back();
  return target;
}

struct Layout {
  size_t row_bytes;
  size_t offset;
  size_t stride;
};

class Layouts : public testing::TestWithParam<Layout> {};

TEST_P(Layouts, ReadsEachRowIntoItsPlace) {
  const auto [row_bytes, offset, stride] = GetParam();
  const RowFiles files;
  const Bytes content = counted(offset + 19 * stride + std::max(stride, row_bytes));
  FileColumn column(static_cast<int64_t>(row_bytes), 1);
  column.add_file(files.write("rows", content), static_cast<int64_t>(offset),
                  static_cast<int64_t>(stride), 20);
  const std::vector<size_t> rows = {19, 0, 1, 2, 3, 3, 7, 8, 18, 19, 4};

  const Bytes target = gathered(column, rows);

  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t b = 0; b < row_bytes; ++b) {
      ASSERT_EQ(target[i * row_bytes + b], content[offset + rows[i] * stride + b]) << i << "," << b;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(RowLengths, Layouts,
                         testing::Values(Layout{1, 0, 1}, Layout{1, 8, 1}, Layout{3, 5, 3},
                                         Layout{3, 5, 7}, Layout{7, 5, 3}, Layout{784, 16, 784},
                                         Layout{5000, 16, 5000}, Layout{5000, 1, 8192},
                                         Layout{0, 0, 0}, Layout{0, 3, 4}));

TEST(FileColumn, JoinsFilesInTheOrderAdded) {
  const RowFiles files;
  FileColumn column(1, 1);
  column.add_file(files.write("a", Bytes{0, 1, 2}), 0, 1, 3);
  column.add_file(files.write("b", Bytes{}), 0, 1, 0);
  column.add_file(files.write("c", Bytes{99, 99, 3, 4}), 2, 1, 2);
  column.add_file(files.write("d", Bytes{5, 99, 6, 99}), 0, 2, 2);
  EXPECT_EQ(column.rows(), 7);
  EXPECT_EQ(gathered(column, {0, 1, 2, 3, 4, 5, 6}), (Bytes{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(gathered(column, {6, 2, 3, 0, 5, 5}), (Bytes{6, 2, 3, 0, 5, 5}));
}

TEST(FileColumn, ReadsAdjacentRowsLongerThanOneRead) {
  const RowFiles files;
  const size_t row_bytes = size_t{3} << 20;
  const Bytes content = counted(7 * row_bytes);
  FileColumn column(static_cast<int64_t>(row_bytes), 1);
  column.add_file(files.write("rows", content), 0, static_cast<int64_t>(row_bytes), 7);
  EXPECT_TRUE(gathered(column, {0, 1, 2, 3, 4, 5, 6}) == content);
}

TEST(FileColumn, ReadsRowsThatAreNotInThePageCache) {
  const RowFiles files;
  const size_t row_bytes = 5000;
  const Bytes content = counted(300 * row_bytes);
  const std::string path = files.write("rows", content);
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::fsync(file.value()), 0);
  FileColumn column(static_cast<int64_t>(row_bytes), 1);
  column.add_file(path, 0, static_cast<int64_t>(row_bytes), 300);
  std::vector<size_t> rows(300);
  std::iota(rows.begin(), rows.end(), size_t{0});
  for (unsigned seed = 0; seed < 5; ++seed) {
    // Only in part, so that a row may begin in the cache and end on the disk.
    ASSERT_EQ(::posix_fadvise(file.value(), 4096 * static_cast<int64_t>(seed), 700'000,
                              POSIX_FADV_DONTNEED),
              0);
    std::shuffle(rows.begin(), rows.end(), std::mt19937(seed));
    const Bytes target = gathered(column, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto expected = content.begin() + static_cast<int64_t>(rows[i] * row_bytes);
      ASSERT_TRUE(std::equal(expected, expected + static_cast<int64_t>(row_bytes),
                             target.begin() + static_cast<int64_t>(i * row_bytes)))
          << rows[i];
    }
  }
}

TEST(FileColumn, ReversesTheBytesOfEachUnit) {
  const RowFiles files;
  const Bytes content = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const std::string path = files.write("rows", content);
  const auto swapped = [&](int64_t unit) {
    FileColumn column(8, unit);
    column.add_file(path, 0, 8, 2);
    return gathered(column, {0, 1});
  };
  EXPECT_EQ(swapped(1), content);
  EXPECT_EQ(swapped(2), (Bytes{1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14}));
  EXPECT_EQ(swapped(4), (Bytes{3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12}));
  EXPECT_EQ(swapped(8), (Bytes{7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8}));
}

TEST(FileColumn, ReadsBeyondFourGigabytes) {
  const RowFiles files;
  const int64_t far = int64_t{5} << 30;
  const std::string path = files.write("rows", Bytes{});
  std::filesystem::resize_file(path, static_cast<uintmax_t>(far) + 4);  // sparse: all zeros
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(far);
  file.write("\1\2\3\4", 4);
  file.close();
  FileColumn column(2, 1);
  column.add_file(path, 0, 2, far / 2 + 2);
  EXPECT_EQ(gathered(column, {static_cast<size_t>(far / 2 + 1), static_cast<size_t>(far / 2), 7}),
            (Bytes{3, 4, 1, 2, 0, 0}));
}

void expect_unreadable(const FileColumn& column, const std::vector<size_t>& rows, int64_t row,
                       const std::string& phrase) {
  Bytes target(rows.size() * static_cast<size_t>(column.row_bytes()));
  try {
    column.gather(reinterpret_cast<std::byte*>(target.data()), {rows}, kGoOn);
    FAIL() << "read; expected: " << phrase;
  } catch (const UnreadableRow& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnreadable);
    EXPECT_EQ(static_cast<int64_t>(rows[error.place()]), row);
    EXPECT_NE(std::string(error.what()).find(phrase), std::string::npos) << error.what();
  }
}

TEST(FileColumn, NamesTheFirstRowMissingFromATruncatedFile) {
  const RowFiles files;
  FileColumn column(10, 1);
  column.add_file(files.write("first", counted(30)), 0, 10, 3);
  const std::string path = files.write("second", counted(45));
  column.add_file(path, 5, 10, 4);
  EXPECT_EQ(gathered(column, {6}).size(), 10U);

  std::filesystem::resize_file(path, 29);  // in the middle of its row 2, row 5 of the column

  const std::string found = path +
                            ": row 2, bytes 25 to 35, cannot be read: the file now has 29 bytes, "
                            "but had 45 when it was opened";
  expect_unreadable(column, {5}, 5, found);
  expect_unreadable(column, {2, 3, 4, 5, 6}, 5, found);
  expect_unreadable(column, {6, 5}, 6, "row 3, bytes 35 to 45");
  EXPECT_EQ(gathered(column, {0, 1, 2, 3, 4}).size(), 50U);

  std::filesystem::resize_file(path, 45);
  EXPECT_EQ(gathered(column, {5})[3], counted(45)[28]);
  EXPECT_EQ(gathered(column, {5})[4], 0);  // the truncated part comes back as a hole
}

TEST(FileColumn, NamesTheFirstRowOfThePagesMissingFromATruncatedFile) {
  const RowFiles files;
  const Bytes content = counted(100 * 1000);
  const std::string path = files.write("rows", content);
  FileColumn column(1000, 1);
  column.add_file(path, 0, 1000, 100);
  EXPECT_EQ(gathered(column, {0, 99, 50}).size(), 3000U);

  std::filesystem::resize_file(path, 30'000);

  expect_unreadable(column, {1, 29, 30, 2}, 30, "row 30, bytes 30000 to 31000");
  expect_unreadable(column, {1, 32, 31}, 32, "row 32, bytes 32000 to 33000");
  expect_unreadable(column, {1, 30, 99}, 30, "row 30");  // in the page that holds the end
  expect_unreadable(column, {1, 99, 30}, 99, "the file now has 30000 bytes, but had 100000");
  EXPECT_EQ(gathered(column, {1, 29})[1000], content[29'000]);
}

TEST(FileColumn, ReadsRowsOfManyFilesInAnyOrder) {
  const RowFiles files;
  const Bytes content = counted(3000);
  FileColumn column(10, 1);
  std::vector<size_t> rows;
  for (size_t i = 0; i < 30; ++i) {
    const Bytes part(content.begin() + static_cast<int64_t>(i * 100),
                     content.begin() + static_cast<int64_t>(i * 100 + 100));
    column.add_file(files.write(std::to_string(i), part), 0, 10, 10);
  }
  for (size_t i = 0; i < 300; ++i) {
    rows.push_back(i * 7 % 300);
  }
  const Bytes target = gathered(column, rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_EQ(target[i * 10 + 3], content[rows[i] * 10 + 3]) << i;
  }
  std::filesystem::resize_file(files.path() + "/7", 95);
  expect_unreadable(column, {0, 10, 79, 5}, 79, "/7: row 9");
}

TEST(FileColumn, ReadsRowsToTheirPlaces) {
  const RowFiles files;
  FileColumn column(2, 1);
  column.add_file(files.write("rows", Bytes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), 0, 2, 5);
  const std::vector<size_t> rows = {1, 2, 3, 4};
  const std::vector<size_t> places = {4, 5, 0, 2};  // a run, and rows adjacent only in the file
  Bytes target(12, 0xEE);
  EXPECT_TRUE(column.gather(reinterpret_cast<std::byte*>(target.data()), {rows, places}, kGoOn));
  EXPECT_EQ(target, (Bytes{6, 7, 0xEE, 0xEE, 8, 9, 0xEE, 0xEE, 2, 3, 4, 5}));
}

TEST(FileColumn, KeepsReadingAfterItsFileIsRemovedOrReplaced) {
  const RowFiles files;
  const std::string path = files.write("rows", Bytes{1, 2, 3});
  FileColumn column(1, 1);
  column.add_file(path, 0, 1, 3);
  std::filesystem::remove(path);
  EXPECT_EQ(gathered(column, {2, 0}), (Bytes{3, 1}));
  EXPECT_EQ(files.write("rows", Bytes{7, 8, 9}), path);
  EXPECT_EQ(gathered(column, {2, 0}), (Bytes{3, 1}));
}

TEST(FileColumn, StopsOnRequest) {
  const RowFiles files;
  FileColumn column(1, 1);
  column.add_file(files.write("rows", Bytes{1, 2}), 0, 1, 2);
  Bytes target = {0, 0};
  const std::atomic<bool> stop{true};
  const std::vector<size_t> rows = {1, 0};
  EXPECT_FALSE(column.gather(reinterpret_cast<std::byte*>(target.data()), {rows}, stop));
  EXPECT_EQ(target, (Bytes{0, 0}));
}

TEST(FileColumn, ClosesItsFiles) {
  const RowFiles files;
  const std::string path = files.write("rows", Bytes{1, 2});
  const int64_t before = open_files();
  {
    FileColumn column(1, 1);
    column.add_file(path, 0, 1, 2);
    column.add_file(path, 0, 1, 1);
    EXPECT_THROW(column.add_file(path, 0, 1, 3), Error);
    EXPECT_EQ(open_files(), before + 2);
  }
  EXPECT_EQ(open_files(), before);
}

void expect_error(ErrorCode code, const std::string& phrase, const std::function<void()>& call) {
  try {
    call();
    FAIL() << "accepted; expected: " << phrase;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    EXPECT_NE(std::string(error.what()).find(phrase), std::string::npos) << error.what();
  }
}

TEST(FileColumn, RefusesFilesThatCannotHoldItsRows) {
  const auto refused = ErrorCode::kInvalidArgument;
  const int64_t most = std::numeric_limits<int64_t>::max();
  const RowFiles files;
  const std::string path = files.write("rows", counted(24));
  const std::string pipe = files.path() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  FileColumn column(10, 1);
  expect_error(ErrorCode::kUnreadable, "absent cannot be opened: No such file or directory",
               [&] { column.add_file(files.path() + "/absent", 0, 10, 1); });
  expect_error(refused, "must be a regular file", [&] { column.add_file("/", 0, 10, 1); });
  expect_error(refused, "must be a regular file", [&] { column.add_file(pipe, 0, 10, 1); });
  expect_error(refused,
               path +
                   " must hold 2 rows of 10 bytes, one every 10 bytes from byte 5 on, got a "
                   "file of 24 bytes",
               [&] { column.add_file(path, 5, 10, 2); });
  for (const auto& [offset, stride, rows] : {std::array<int64_t, 3>{0, 15, 2},
                                             {15, 10, 1},
                                             {0, most, 2},
                                             {most, 10, 1},
                                             {0, 10, most}}) {
    expect_error(refused, "got a file of 24 bytes",
                 [&] { column.add_file(path, offset, stride, rows); });
  }
  for (const auto& [offset, stride, rows] :
       {std::array<int64_t, 3>{-1, 10, 1}, {0, 0, 1}, {0, 10, -1}}) {
    expect_error(refused, "must be at least 0, 1 and 0",
                 [&] { column.add_file(path, offset, stride, rows); });
  }
  EXPECT_EQ(column.rows(), 0);
  column.add_file(path, 4, 10, 2);
  expect_error(refused, "must be at least", [&] { column.add_file(path, 0, 10, most); });
  expect_error(refused, "row_bytes must be at least 0", [] { FileColumn(-1, 1); });
  for (const int64_t unit : {0, 3, 4, 16}) {
    expect_error(refused, "swap_bytes must be 1, 2, 4 or 8 and divide the row's 10 bytes",
                 [&] { FileColumn(10, unit); });
  }
}

}  // namespace
}  // namespace torchfeed
