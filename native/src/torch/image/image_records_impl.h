// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/image/store/record_column.h"
#include "torch/base/live_count.h"
#include "torchfeed/image_records.h"

namespace torchfeed {

/// The files behind the facade.
class ImageRecords::Impl {
 public:
  std::vector<SharedImages> files;
  std::vector<std::string> left_out;  // samples of tar files

 private:
  LiveCount live_;
};

}  // namespace torchfeed
