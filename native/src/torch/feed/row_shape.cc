// SPDX-License-Identifier: Apache-2.0
#include "torch/feed/row_shape.h"

#include <c10/util/ArrayRef.h>

#include <sstream>
#include <utility>

#include "torchfeed/error.h"

namespace torchfeed {

RowShape row_shape(at::ScalarType dtype, std::vector<int64_t> sizes) {
  auto bytes = static_cast<int64_t>(at::elementSize(dtype));
  for (const int64_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) {
      throw Error(
          ErrorCode::kInvalidArgument,
          "sizes of a row must be at least 0 and fit into memory, got " + std::to_string(size));
    }
  }
  return {static_cast<int64_t>(dtype), std::move(sizes), bytes};
}

std::string described(const std::vector<RowShape>& columns) {
  std::ostringstream text;
  const char* before = "[";
  for (const RowShape& column : columns) {
    const auto dtype = static_cast<at::ScalarType>(column.dtype);
    text << std::exchange(before, ", ") << c10::getDtypeNames(dtype).first << ' '
         << at::IntArrayRef(column.sizes);
  }
  text << ']';
  return text.str();
}

}  // namespace torchfeed
