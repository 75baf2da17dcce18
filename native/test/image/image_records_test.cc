// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "core/crc32.h"
#include "core/image/recipe/image_plan_reader.h"
#include "core/image/store/record_column.h"
#include "core/image/store/record_file.h"
#include "core/image/store/record_writer.h"
#include "core/rows/row_table.h"
#include "feed/row_files.h"
#include "image/golden_lines.h"
#include "image/image_files.h"
#include "torchfeed/error.h"
#include "torchfeed/image_plan.h"

namespace torchfeed {
namespace {

using testing::Bytes;
using testing::golden_image;
using testing::kCropSteps;
using testing::kImageKey;
using testing::problem;

constexpr int64_t kRowBytes = 360;
const std::vector<std::string> kImages = {
    "420.jpg",     "rgba.png",    "lossy.webp", "cmyk.jpg", "grey_progressive.jpg",
    "440_odd.jpg", "ycck_420.jpg"};

std::string write_records(const RowFiles& folder, const std::string& name,
                          const std::vector<std::string>& images) {
  const std::string path = folder.path() + '/' + name;
  RecordWriter writer(path);
  uint32_t label = 0;
  for (const std::string& image : images) {
    writer.add(record_image(golden_image(image)), label++ % 3);
  }
  writer.finish("{}");
  return path;
}

Bytes read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

SharedTable table_of_records(const std::vector<std::string>& paths,
                             const std::vector<double>& steps = kCropSteps) {
  std::vector<SharedImages> files;
  for (const std::string& path : paths) {
    files.push_back(std::make_shared<const RecordFile>(path));
  }
  return table_of({std::make_shared<const RecordColumn>(std::move(files), read_plan(steps),
                                                        RowShape{0, {3, 10, 12}, kRowBytes})});
}

Bytes gathered(const RowTable& table, const Rows& rows) {
  Bytes batch(rows.size() * kRowBytes);
  const std::atomic<bool> stop{false};
  const std::array<std::byte*, 1> targets = {reinterpret_cast<std::byte*>(batch.data())};
  EXPECT_TRUE(table.gather(targets, {rows, {}, {}, kImageKey}, stop, Stores::kCached));
  return batch;
}

/// The rows of files for the indices of their samples.
Bytes expected(const std::vector<std::string>& names, const Rows& rows,
               const std::vector<double>& steps = kCropSteps) {
  Bytes batch(rows.size() * kRowBytes);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SampleWords words(kImageKey.seed, kImageKey.epoch, static_cast<int64_t>(rows[i]));
    make_row(read_plan(steps), golden_image(names[rows[i]]), words,
             reinterpret_cast<std::byte*>(batch.data() + i * kRowBytes));
  }
  return batch;
}

TEST(ImageRecords, RowsEqualThoseOfFiles) {
  const RowFiles folder;
  const SharedTable table = table_of_records({write_records(folder, "a", kImages)});
  EXPECT_EQ(static_cast<int64_t>(kImages.size()), table->rows());
  const Rows rows = {2, 0, 3, 6, 1, 4, 5, 0};
  EXPECT_EQ(expected(kImages, rows), gathered(*table, rows));
}

TEST(ImageRecords, ImagesAreTurnedAsThoseOfFiles) {
  const std::vector<std::string> names = {"exif_1.jpg", "exif_2.jpg", "exif_3.jpg", "exif_4.jpg",
                                          "exif_5.jpg", "exif_6.jpg", "exif_7.jpg", "exif_8.jpg",
                                          "exif_6.png", "exif_5.webp"};
  std::vector<double> steps = {kPlanExifOrientation};
  steps.insert(steps.end(), kCropSteps.begin(), kCropSteps.end());
  const RowFiles folder;
  const std::string path = write_records(folder, "a", names);
  const Rows rows = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  EXPECT_EQ(expected(names, rows, steps), gathered(*table_of_records({path}, steps), rows));
  EXPECT_EQ(expected(names, rows), gathered(*table_of_records({path}), rows));
}

TEST(ImageRecords, FilesFollowOneAnother) {
  const RowFiles folder;
  const std::vector<std::string> first = {kImages.begin(), kImages.begin() + 2};
  const std::vector<std::string> last = {kImages.begin() + 2, kImages.end()};
  const std::vector<std::string> paths = {write_records(folder, "a", first),
                                          write_records(folder, "b", {}),
                                          write_records(folder, "c", last)};
  const Rows rows = {2, 1, 6, 0};
  EXPECT_EQ(expected(kImages, rows), gathered(*table_of_records(paths), rows));
  const std::vector<SharedImages> files = {std::make_shared<const RecordFile>(paths[0]),
                                           std::make_shared<const RecordFile>(paths[2])};
  EXPECT_EQ((std::vector<int64_t>{0, 1, 0, 1, 2, 0, 1}), labels_of(files));
}

TEST(ImageRecords, AreCheckedWithoutProblems) {
  const RowFiles folder;
  const RecordFile file(write_records(folder, "a", kImages));
  std::size_t tiled = 0;
  for (std::size_t i = 0; i < file.images(); ++i) {
    EXPECT_EQ("", file.problem(i));
    EXPECT_EQ(0, file.row(i).offset % 64);
    tiled += file.row(i).is_tiled() ? 1U : 0U;
  }
  EXPECT_EQ(kImages.size() - 2, tiled);
  EXPECT_EQ("{}", file.description());
}

TEST(ImageRecords, AJpegThatIsNotRewrittenIsStoredAsItIs) {
  const RowFiles folder;
  const std::string path = folder.path() + "/a";
  Bytes jpeg = golden_image("420_progressive.jpg");
  // Without its last scan, decoders smooth the blocks.
  const Bytes marker = {0xff, 0xda};
  const auto scan = std::find_end(jpeg.begin(), jpeg.end(), marker.begin(), marker.end());
  jpeg.erase(scan, jpeg.end() - 2);
  RecordWriter writer(path);
  writer.add(record_image(jpeg), 0);
  EXPECT_EQ(0U, writer.tiled());
  writer.add(record_image(golden_image("420_progressive.jpg")), 0);
  EXPECT_EQ(1U, writer.tiled());
  writer.finish("{}");
  const RecordFile file(path);
  EXPECT_EQ(static_cast<int64_t>(jpeg.size()), file.row(0).bytes());
  EXPECT_EQ("", file.problem(0));
}

TEST(ImageRecords, AnImageThatCannotBeDecodedIsRefused) {
  for (const char* name : {"420.jpg", "422_progressive.jpg", "rgb.png"}) {
    Bytes image = golden_image(name);
    image.resize(image.size() * 2 / 3);
    EXPECT_NE("", problem([&] { std::ignore = record_image(image); })) << name;
  }
  EXPECT_EQ("the image is empty; get the file again, or leave it out",
            problem([&] { std::ignore = record_image({}); }));
}

TEST(ImageRecords, NothingIsLeftWithoutFinish) {
  const RowFiles folder;
  {
    RecordWriter writer(folder.path() + "/a");
    writer.add(record_image(golden_image("444.jpg")), 0);
    EXPECT_FALSE(std::filesystem::is_empty(folder.path()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(folder.path() + "/none/a cannot be written: No such file or directory",
            problem([&] { RecordWriter(folder.path() + "/none/a"); }));
}

TEST(ImageRecords, AFullDiskIsAnErrorThatLeavesNothing) {
  const RowFiles folder;
  rlimit before{};
  ASSERT_EQ(0, ::getrlimit(RLIMIT_FSIZE, &before));
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{5000, before.rlim_max};  // stands for a disk: the error is another one
  ASSERT_EQ(0, ::setrlimit(RLIMIT_FSIZE, &small));
  const std::string message = problem([&] { write_records(folder, "a", kImages); });
  ASSERT_EQ(0, ::setrlimit(RLIMIT_FSIZE, &before));
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(folder.path() + "/a cannot be written: File too large", message);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ImageRecords, AFileThatShrinksOrIsDamagedIsAnErrorOfItsImage) {
  const RowFiles folder;
  const std::string path = write_records(folder, "a", kImages);
  const SharedTable table = table_of_records({path});
  const RecordFile file(path);
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
  std::filesystem::resize_file(path, static_cast<uintmax_t>(file.row(3).offset + 3));
  EXPECT_EQ(expected(kImages, {2, 0}), gathered(*table, {2, 0}));
  try {
    gathered(*table, {2, 3, 0});
    ADD_FAILURE() << "read an image that is cut off";
  } catch (const UnreadableRow& error) {
    EXPECT_EQ(1U, error.place());
    EXPECT_EQ(path + ": image 3 cannot be read: the file now has " +
                  std::to_string(file.row(3).offset + 3) + " bytes, but had " +
                  std::to_string(size) + " when it was opened",
              error.message());
  }
  EXPECT_EQ(path + " cannot be opened: it must have " + std::to_string(size) + " bytes, got " +
                std::to_string(file.row(3).offset + 3),
            problem([&] { RecordFile again(path); }));
}

TEST(ImageRecords, EachDamagedByteIsNoticed) {
  const RowFiles folder;
  const std::string path = write_records(folder, "a", {"420_odd.jpg", "rgb.png"});
  const Bytes whole = read_file(path);
  const RecordFile file(path);
  const auto images_end = static_cast<std::size_t>(file.row(1).offset + file.row(1).bytes());
  std::mt19937 random(1);
  for (std::size_t at = 0; at < whole.size(); at += 1 + random() % 40) {
    Bytes damaged = whole;
    damaged[at] = static_cast<uint8_t>(damaged[at] ^ (1U << random() % 8));
    const std::string other = folder.write("b", damaged);
    const bool is_image = at >= 64 && at < images_end;
    const bool is_gap = is_image &&
                        at >= static_cast<std::size_t>(file.row(0).offset + file.row(0).bytes()) &&
                        at < static_cast<std::size_t>(file.row(1).offset);
    if (!is_image) {
      EXPECT_NE("", problem([&] { RecordFile opened(other); })) << at;
    } else if (!is_gap) {
      const RecordFile opened(other);
      EXPECT_EQ("its checksum is wrong", opened.problem(0) + opened.problem(1)) << at;
    }
  }
}

TEST(ImageRecords, OtherFilesAreRefused) {
  const RowFiles folder;
  const auto opened = [](const std::string& path) {
    return problem([&] { RecordFile file(path); });
  };
  const std::string none = folder.path() + "/none";
  EXPECT_EQ(none + " cannot be opened: No such file or directory", opened(none));
  EXPECT_EQ(folder.path() + " cannot be opened: it is not a regular file", opened(folder.path()));
  const std::string text = folder.write("text", std::vector<char>(100, 'x'));
  EXPECT_EQ(text + " cannot be opened: it is not a file of image records", opened(text));
  const std::string empty = folder.write("empty", std::vector<char>());
  EXPECT_EQ(empty + " cannot be opened: it is not a file of image records", opened(empty));
  const std::string pointed = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n";
  const std::string pointer =
      folder.write("pointer", std::vector<char>(pointed.begin(), pointed.end()));
  EXPECT_EQ(pointer +
                " cannot be opened: it is a Git LFS pointer in the place of the file; get the file "
                "by git lfs pull",
            opened(pointer));
  Bytes newer = read_file(write_records(folder, "a", {}));
  newer[8] = 2;
  const std::string second = folder.write("second", newer);
  EXPECT_EQ(second + " cannot be opened: its version must be 1, got 2", opened(second));
}

TEST(ImageRecords, PlansLimitThePixelsOfStoredImages) {
  const RowFiles folder;
  for (const char* name : {"420.jpg", "cmyk.jpg"}) {
    const std::string path = write_records(folder, name, {name});
    ASSERT_TRUE(RecordFile(path).row(0).is_tiled());
    const auto with_limit = [&](double most) {
      std::vector<double> steps = kCropSteps;
      steps.insert(steps.end(), {kPlanMaxPixels, most});
      return gathered(*table_of_records({path}, steps), {0});
    };
    EXPECT_EQ(expected({name}, {0}), with_limit(150 * 118)) << name;
    EXPECT_THROW(with_limit(150 * 118 - 1), UnreadableRow) << name;
  }
}

TEST(ImageRecords, LabelsAreOfTheFormatOrTheFileIsRefused) {
  const RowFiles folder;
  const auto write = [&](const char* name, uint32_t label) {
    std::string path = folder.path() + '/' + name;
    RecordWriter writer(path);
    writer.add(record_image(golden_image("420.jpg")), 1);
    writer.add(record_image(golden_image("420.jpg")), label);
    writer.finish("{}");
    return path;
  };
  const RecordFile largest(write("largest", 2147483647));
  EXPECT_EQ(2147483647U, largest.row(1).label);
  const std::string path = write("larger", 2147483648);
  EXPECT_EQ(path +
                " cannot be opened: image 1 must have a label from 0 to 2147483647, got "
                "2147483648; write the file again with smaller labels",
            problem([&] { RecordFile file(path); }));
}

/// Corrects the checksum of the index, so that its content is looked at.
void correct_checksum(Bytes& file) {
  RecordHeaderBytes head{};
  if (file.size() < head.size()) {
    return;
  }
  std::copy_n(file.begin(), head.size(), head.begin());
  uint64_t description_at = 0;
  for (std::size_t i = 8; i-- > 0;) {
    description_at = description_at << 8 | head[24 + i];
  }
  if (description_at <= file.size()) {
    const uint32_t checksum =
        checksum_of(head, std::span(file).subspan(static_cast<std::size_t>(description_at)));
    for (std::size_t i = 0; i < 4; ++i) {
      file[12 + i] = static_cast<uint8_t>(checksum >> (8 * i));
    }
  }
}

/// A longer run: the number of mutations in `TORCHFEED_IMAGE_MUTATIONS`.
TEST(ImageRecords, MutatedFilesFailWithATypedErrorOrGivePixels) {
  const char* const chosen = std::getenv("TORCHFEED_IMAGE_MUTATIONS");
  const int mutations = chosen == nullptr ? 200 : std::atoi(chosen);
  const RowFiles folder;
  const Bytes whole = read_file(write_records(folder, "a", kImages));
  const RecordFile file(folder.path() + "/a");
  const auto index = static_cast<std::size_t>(whole.size() - kImages.size() * kRecordRowBytes);
  std::mt19937 random(7);
  for (int i = 0; i < mutations; ++i) {
    Bytes mutated = whole;
    const std::size_t changes = 1 + random() % 3;
    for (std::size_t change = 0; change < changes; ++change) {
      // The tables and headers of images, their tiles, or the index.
      const auto start = static_cast<std::size_t>(file.row(random() % kImages.size()).offset);
      const std::array<std::size_t, 3> places = {
          start + random() % 40, start + random() % 2000,
          index + random() % (kImages.size() * kRecordRowBytes)};
      mutated[std::min(places[random() % 3], whole.size() - 1)] = static_cast<uint8_t>(random());
    }
    correct_checksum(mutated);
    const std::string path = folder.write("b", mutated);
    problem([&] {
      const SharedTable table = table_of_records({path});
      for (std::size_t row = 0; row < kImages.size(); ++row) {
        problem([&] { gathered(*table, {row}); });
      }
    });
  }
}

TEST(ImageRecords, MutatedJpegsAreRefusedOrKeepTheirPixels) {
  const char* const chosen = std::getenv("TORCHFEED_IMAGE_MUTATIONS");
  const int mutations = chosen == nullptr ? 25 : std::atoi(chosen);
  const RowFiles folder;
  std::mt19937 random(8);
  for (const char* name : {"420_odd.jpg", "422_progressive.jpg", "restart_blocks.jpg",
                           "ycck_420.jpg", "grey_progressive.jpg", "411_odd.jpg"}) {
    const Bytes whole = golden_image(name);
    for (int i = 0; i < mutations; ++i) {
      Bytes mutated = whole;
      const std::size_t limit = random() % 2 == 0 ? whole.size() : 700;
      for (std::size_t change = 0; change < 1 + random() % 3; ++change) {
        mutated[random() % limit] = static_cast<uint8_t>(random());
      }
      const std::string path = folder.path() + "/a";
      if (problem([&] {
            RecordWriter writer(path);
            writer.add(record_image(mutated), 0);
            writer.finish("{}");
          }).empty()) {
        const RecordFile file(path);
        EXPECT_EQ("", file.problem(0)) << name << ' ' << i;
        EXPECT_EQ("", problem([&] { testing::decoded(mutated); })) << name << ' ' << i;
      }
    }
  }
}

TEST(Crc32, EqualsThatOfZlib) {
  const Bytes text = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  EXPECT_EQ(0xcbf43926U, crc32(text));
  EXPECT_EQ(0xcbf43926U, crc32(std::span(text).subspan(4), crc32(std::span(text).first(4))));
  EXPECT_EQ(0U, crc32({}));
}

}  // namespace
}  // namespace torchfeed
