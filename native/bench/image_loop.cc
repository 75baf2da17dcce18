// SPDX-License-Identifier: Apache-2.0
// The C++ side of examples/benchmarks/images, in one thread: the code that decodes the part of a
// picture for a crop, without a loader around it, and libjpeg-turbo's decoding of whole pictures.
// Reads one task per line, `CONTESTANT TASK LISTING FOLDER`, and answers with `done PICTURES
// PROCESSOR_NANOS NANOS`.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/image/image_file.h"
#include "core/image/image_plan_reader.h"
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

Paths lines_of(const std::string& listing) {
  std::ifstream file(listing);
  Paths lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

void serve() {
  std::cout << "ready cpp-region cpp-whole-decode" << std::endl;
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
      throw std::invalid_argument(line);
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
