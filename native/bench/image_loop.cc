// SPDX-License-Identifier: Apache-2.0
// The C++ side of examples/benchmarks/images, in one thread: the code that decodes the part of an
// image for a crop, without a loader around it, libjpeg-turbo's decoding of whole images, and
// the resize alone, from memory to memory, with each kind of kernel that this processor can run.
// Reads one task per line, `CONTESTANT TASK LISTING FOLDER`, and answers with `done IMAGES
// PROCESSOR_NANOS NANOS`. Contestants whose name starts with `resize:` perform the task `resize`,
// one for each line of the listing; the others perform all other tasks.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/image/decode/image_source.h"
#include "core/image/recipe/image_plan_reader.h"
#include "core/image/scale/image_pass.h"
#include "core/image/scale/pixel_store.h"
#include "core/image/scale/resample_axis.h"
#include "core/image/scale/resample_kernels.h"
#include "core/image/store/image_file.h"
#include "torchfeed/image_plan.h"

// jpeglib.h needs FILE and size_t declared before it.
#include <jpeglib.h>

namespace torchfeed {
namespace {

using Paths = std::vector<std::string>;

constexpr std::size_t kBatch = 32;
constexpr double kSide = 224;
constexpr double kShortSide = 256;
constexpr double kBilinear = 1;

int64_t nanos(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{1000000000} * time.tv_sec + time.tv_nsec;
}

ImageRecipe recipe(bool is_training) {
  std::vector<double> steps = {kPlanScaling, 0, kBilinear};
  const std::vector<double> train = {kPlanRandomResizedCrop, kSide, kSide, 0.08, 1, 0.75, 4 / 3.0,
                                     kPlanHorizontalFlip,    0.5};
  const std::vector<double> eval = {kPlanShortSide, kShortSide, kPlanCenterCrop, kSide, kSide};
  const std::vector<double>& chosen = is_training ? train : eval;
  steps.insert(steps.end(), chosen.begin(), chosen.end());
  for (const double value : {double{kPlanNormalize}, 0.485, 0.456, 0.406, 0.229, 0.224, 0.225}) {
    steps.push_back(value);
  }
  return read_plan(steps);
}

void decode_regions(const Paths& paths, bool is_training) {
  const ImageRecipe plan = recipe(is_training);
  const auto row_bytes = static_cast<std::size_t>(plan.row_bytes());
  std::vector<float> batch(kBatch * row_bytes / sizeof(float));
  std::vector<uint8_t> encoded;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    read_image_file(paths[i], encoded);
    SampleWords words(/*seed=*/0, /*epoch=*/0, static_cast<int64_t>(i));
    make_row(plan, encoded, words,
             reinterpret_cast<std::byte*>(batch.data()) + i % kBatch * row_bytes);
  }
}

[[noreturn]] void fail(j_common_ptr) {
  std::cerr << "image_loop: a JPEG cannot be decoded\n";
  std::exit(1);
}

void decode_whole(const Paths& paths) {
  std::vector<uint8_t> encoded;
  std::vector<uint8_t> row;
  for (const std::string& path : paths) {
    read_image_file(path, encoded);
    jpeg_decompress_struct jpeg{};
    jpeg_error_mgr errors{};
    jpeg.err = jpeg_std_error(&errors);
    errors.error_exit = fail;
    jpeg_create_decompress(&jpeg);
    jpeg_mem_src(&jpeg, encoded.data(), encoded.size());
    jpeg_read_header(&jpeg, TRUE);
    jpeg.out_color_space = JCS_RGB;
    jpeg_start_decompress(&jpeg);
    row.resize(std::size_t{3} * jpeg.output_width);
    while (jpeg.output_scanline < jpeg.output_height) {
      uint8_t* const rows = row.data();
      jpeg_read_scanlines(&jpeg, const_cast<JSAMPARRAY>(&rows), 1);
    }
    jpeg_finish_decompress(&jpeg);
    jpeg_destroy_decompress(&jpeg);
  }
}

/// An image in memory, of random bytes.
class NoiseImage final : public ImageSource {
 public:
  explicit NoiseImage(int64_t side)
      : side_(side), pixels_(static_cast<std::size_t>(3 * side * side) + kRowSlack) {
    std::mt19937 random(1);
    for (uint8_t& value : pixels_) {
      value = static_cast<uint8_t>(random());
    }
  }

  int64_t width() const override { return side_; }
  int64_t height() const override { return side_; }

  void begin(const Region& region) override {
    next_ = pixels_.data() + (region.top * side_ + region.left) * 3;
  }

  const uint8_t* next_row() override {
    const uint8_t* const row = next_;
    next_ += 3 * side_;
    return row;
  }

 private:
  int64_t side_;
  std::vector<uint8_t> pixels_;
  const uint8_t* next_ = nullptr;
};

struct ResizeContestant {
  std::string name;
  Resize resize;
};

std::vector<ResizeContestant> resize_contestants() {
  std::vector<ResizeContestant> contestants;
  for (const ResampleKernels& kernels : resample_kernels()) {
    contestants.push_back({"resize:pillow-" + kernels.name,
                           {.dialect = ResizeDialect::kPillow, .kernels = &kernels}});
    contestants.push_back({"resize:torchvision-" + kernels.name,
                           {.dialect = ResizeDialect::kTorchvision, .kernels = &kernels}});
  }
  return contestants;
}

/// Scales an image of 256 x 256 to 224 x 224, RGB bytes, as often as told; the filter's tables are
/// made each time.
void resize_images(const std::string& contestant, std::size_t times) {
  constexpr auto kFrom = static_cast<int64_t>(kShortSide);
  constexpr auto kTo = static_cast<int64_t>(kSide);
  static NoiseImage image(kFrom);
  static std::vector<uint8_t> target(3 * kTo * kTo + kRowSlack);
  for (const ResizeContestant& candidate : resize_contestants()) {
    if (candidate.name == contestant) {
      for (std::size_t i = 0; i < times; ++i) {
        const auto store = interleaved({target.data(), kTo, kTo}, false, false);
        pass_image(image, {{0, 0, kFrom, kFrom}, kTo, kTo, {0, 0, kTo, kTo}}, candidate.resize,
                   *store);
      }
      return;
    }
  }
  throw std::invalid_argument(contestant);
}

Paths lines_of(const std::string& listing) {
  std::ifstream file(listing);
  Paths lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

void serve() {
  std::cout << "ready cpp-region cpp-whole-decode";
  for (const ResizeContestant& contestant : resize_contestants()) {
    std::cout << ' ' << contestant.name;
  }
  std::cout << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string contestant;
    std::string task;
    std::string listing;
    words >> contestant >> task >> listing;
    const Paths paths = lines_of(listing);
    const int64_t processor = nanos(CLOCK_PROCESS_CPUTIME_ID);
    const int64_t start = nanos(CLOCK_MONOTONIC);
    if (contestant == "cpp-region") {
      decode_regions(paths, task == "train");
    } else if (contestant == "cpp-whole-decode") {
      decode_whole(paths);
    } else {
      resize_images(contestant, paths.size());
    }
    std::cout << "done " << paths.size() << ' ' << nanos(CLOCK_PROCESS_CPUTIME_ID) - processor
              << ' ' << nanos(CLOCK_MONOTONIC) - start << std::endl;
  }
}

}  // namespace
}  // namespace torchfeed

int main() {
  try {
    torchfeed::serve();
    return 0;
  } catch (const std::exception& e) {
    std::cerr << "image_loop: " << e.what() << '\n';
    return 1;
  }
}
