// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace torchfeed::detail {

/// A tensor of the model and its name in messages.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

/// Returns the lines of a text, without their ends.
std::vector<std::string> lines_of(const std::string& text);

/// Throws if the index is not in [0, count).
void check_index(int64_t index, int64_t count);

/// Pairs names, one per line, with tensors; a tensor that occurs twice is kept once.
std::vector<NamedTensor> name_tensors(const std::string& names,
                                      const std::vector<at::Tensor>& tensors, const char* kind);

/// Returns the device of all tensors; throws if there are several.
c10::Device device_of(const std::vector<NamedTensor>& parameters,
                      const std::vector<NamedTensor>& buffers);

/// Describes each tensor in one line: kind, name, dtype, shape, strides, type of a device, whether
/// it is trained.
std::string describe_layout(const std::vector<NamedTensor>& tensors, const char* kind);

/// Throws, with the same message on every rank, if a layout differs from rank 0's.
void check_same_layout(const std::vector<std::string>& layouts);

}  // namespace torchfeed::detail
