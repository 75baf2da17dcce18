// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/image_files.h"

#include <cstddef>
#include <utility>

#include "core/image/recipe/image_plan_reader.h"
#include "torch/base/guard.h"
#include "torch/image/image_files_impl.h"

namespace torchfeed {

ImageFiles::ImageFiles(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ImageFiles::~ImageFiles() = default;

std::unique_ptr<ImageFiles> ImageFiles::create(const double* steps, int64_t numbers) {
  return guarded([&] {
    return std::unique_ptr<ImageFiles>(new ImageFiles(
        std::make_unique<Impl>(read_plan({steps, static_cast<std::size_t>(numbers)}))));
  });
}

void ImageFiles::add(const std::string& path, int64_t label) {
  guarded([&] {
    impl_->paths.push_back(path);
    impl_->labels.push_back(label);
  });
}

}  // namespace torchfeed
