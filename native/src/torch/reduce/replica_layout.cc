// SPDX-License-Identifier: Apache-2.0
#include "torch/reduce/replica_layout.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <sstream>
#include <unordered_set>

#include "torchfeed/error.h"

namespace torchfeed::detail {
namespace {

std::string line_or_nothing(const std::vector<std::string>& lines, size_t index) {
  return index < lines.size() ? lines[index] : "nothing";
}

}  // namespace

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

void check_index(int64_t index, int64_t count) {
  if (index < 0 || index >= count) {
    throw Error(ErrorCode::kInvalidArgument, "index must be in [0, " + std::to_string(count) +
                                                 "), got " + std::to_string(index));
  }
}

std::vector<NamedTensor> name_tensors(const std::string& names,
                                      const std::vector<at::Tensor>& tensors, const char* kind) {
  const auto lines = lines_of(names);
  if (lines.size() != tensors.size()) {
    throw Error(ErrorCode::kInvalidArgument, std::string("each ") + kind + " needs one name, got " +
                                                 std::to_string(lines.size()) + " names for " +
                                                 std::to_string(tensors.size()));
  }
  std::vector<NamedTensor> named;
  std::unordered_set<const c10::TensorImpl*> seen;
  for (size_t i = 0; i < lines.size(); ++i) {
    const at::Tensor& tensor = tensors[i];
    if (!tensor.defined()) {
      continue;
    }
    if (tensor.is_meta() || tensor.layout() != at::kStrided) {
      throw Error(ErrorCode::kInvalidArgument,
                  std::string(kind) + ' ' + lines[i] + " must be dense and have values, got " +
                      tensor.toString() + " on " + tensor.device().str());
    }
    if (seen.insert(tensor.unsafeGetTensorImpl()).second) {
      named.push_back({lines[i], tensor});
    }
  }
  return named;
}

c10::Device device_of(const std::vector<NamedTensor>& parameters,
                      const std::vector<NamedTensor>& buffers) {
  const NamedTensor* first = nullptr;
  for (const auto* tensors : {&parameters, &buffers}) {
    for (const auto& each : *tensors) {
      first = first == nullptr ? &each : first;
      if (each.tensor.device() != first->tensor.device()) {
        throw Error(ErrorCode::kInvalidArgument,
                    "all parameters and buffers must be on one device, got " + first->name +
                        " on " + first->tensor.device().str() + " and " + each.name + " on " +
                        each.tensor.device().str());
      }
    }
  }
  return first == nullptr ? c10::Device(at::kCPU) : first->tensor.device();
}

std::string describe_layout(const std::vector<NamedTensor>& tensors, const char* kind) {
  std::ostringstream out;
  for (const auto& [name, tensor] : tensors) {
    out << kind << ' ' << name << ": " << c10::toString(tensor.scalar_type()) << ' '
        << tensor.sizes() << (tensor.requires_grad() ? "" : ", not trained");
    if (!tensor.is_contiguous()) {
      out << ", strides " << tensor.strides();
    }
    if (!tensor.device().is_cpu()) {
      out << ", on " << c10::DeviceTypeName(tensor.device().type(), /*lower_case=*/true);
    }
    out << '\n';
  }
  return out.str();
}

void check_same_layout(const std::vector<std::string>& layouts) {
  const auto expected = lines_of(layouts.front());
  for (size_t rank = 1; rank < layouts.size(); ++rank) {
    const auto got = lines_of(layouts[rank]);
    for (size_t i = 0; i < std::max(expected.size(), got.size()); ++i) {
      const auto here = line_or_nothing(expected, i);
      const auto there = line_or_nothing(got, i);
      if (here != there) {
        throw Error(ErrorCode::kInvalidArgument,
                    "all ranks must wrap the same model with the same options; first difference: "
                    "rank 0 has " +
                        here + "; rank " + std::to_string(rank) + " has " + there);
      }
    }
  }
}

}  // namespace torchfeed::detail
