// SPDX-License-Identifier: Apache-2.0
#include "torch/group/call_signature.h"

#include <ATen/MemoryOverlap.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "torchfeed/error.h"
#include "torchfeed/process_group.h"

namespace torchfeed::detail {
namespace {

constexpr std::array<const char*, ProcessGroup::kReduceOpCount> kOpNames = {
    "sum", "mean", "product", "minimum", "maximum", "bitwise and", "bitwise or", "bitwise xor"};

std::string shape_text(at::IntArrayRef shape) {
  std::ostringstream out;
  out << shape;
  return out.str();
}

/// Returns the name at the start of the words, which zeros follow if it is shorter than its room.
std::string_view name_in(const int64_t* words) {
  const std::string_view room(reinterpret_cast<const char*>(words), CallName::kMaxBytes);
  return room.substr(0, room.find('\0'));
}

/// One step of a hash over numbers, with the finalizer of SplitMix64.
int64_t mixed(int64_t hash, int64_t value) {
  uint64_t z = static_cast<uint64_t>(hash) * 0x9e3779b97f4a7c15U + static_cast<uint64_t>(value);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return static_cast<int64_t>(z ^ (z >> 31U));
}

constexpr size_t kNameWords = CallName::kMaxBytes / sizeof(int64_t);

// The words after the name: reduction + 1; root + 1, negative if it receives; tensors,
// hash of all but the first, dtype, dimensions, whether they are sent between devices.
enum Word : size_t { kOp = kNameWords, kRoot, kCount, kHash, kType, kDims, kBetweenDevices, kEnd };
static_assert(kEnd == CallSignature::kHeaderWords);

}  // namespace

CallSignature::CallSignature(CallName name) {
  std::memcpy(words_.data(), name.text().data(), name.text().size());
}

CallSignature& CallSignature::op(int32_t op) {
  words_[kOp] = op + 1;
  return *this;
}

CallSignature& CallSignature::from(int64_t root) {
  words_[kRoot] = root + 1;
  return *this;
}

CallSignature& CallSignature::to(int64_t root) {
  words_[kRoot] = -(root + 1);
  return *this;
}

CallSignature& CallSignature::tensors(const std::vector<at::Tensor>& tensors) {
  const at::Tensor& first = tensors.at(0);
  words_[kCount] = static_cast<int64_t>(tensors.size());
  words_[kType] = static_cast<int64_t>(first.scalar_type());
  words_[kDims] = first.dim();
  std::copy(first.sizes().begin(), first.sizes().end(), words_.begin() + kHeaderWords);
  for (size_t i = 1; i < tensors.size(); ++i) {
    words_[kHash] = mixed(words_[kHash], static_cast<int64_t>(tensors[i].scalar_type()));
    words_[kHash] = mixed(words_[kHash], tensors[i].dim());
    for (const auto size : tensors[i].sizes()) {
      words_[kHash] = mixed(words_[kHash], size);
    }
  }
  return *this;
}

CallSignature& CallSignature::between_devices(bool between_devices) {
  words_[kBetweenDevices] = between_devices ? 1 : 0;
  return *this;
}

at::Tensor CallSignature::words() const {
  at::Tensor words = at::empty({kWords}, at::kLong);
  std::copy(words_.begin(), words_.end(), words.mutable_data_ptr<int64_t>());
  return words;
}

bool CallSignature::is_refused(const int64_t* words) { return name_in(words).empty(); }

std::string CallSignature::describe(const int64_t* words) {
  std::ostringstream out;
  out << name_in(words);
  if (words[kOp] > 0) {
    out << " (" << kOpNames.at(static_cast<size_t>(words[kOp] - 1)) << ')';
  }
  if (words[kRoot] != 0) {
    out << (words[kRoot] > 0 ? " from rank " : " to rank ") << std::abs(words[kRoot]) - 1;
  }
  if (words[kCount] > 0) {
    const auto dims = static_cast<size_t>(std::min(words[kDims], kMaxDimensions));
    out << " of " << c10::toString(static_cast<c10::ScalarType>(words[kType])) << ' '
        << shape_text(at::IntArrayRef(words + kHeaderWords, dims));
  }
  if (words[kBetweenDevices] != 0) {
    out << " on its device";
  }
  if (words[kCount] > 1) {
    out << " and " << words[kCount] - 1 << " more tensors with hash " << words[kHash];
  }
  return out.str();
}

int64_t CallSignature::bytes(const int64_t* words) {
  auto bytes = static_cast<int64_t>(c10::elementSize(static_cast<c10::ScalarType>(words[kType])));
  for (int64_t i = 0; i < words[kDims]; ++i) {
    bytes *= words[kHeaderWords + i];
  }
  return bytes;
}

void refuse(const std::string& message) { throw Error(ErrorCode::kInvalidArgument, message); }

std::string refusal_by(const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& e) {
    return e.message();
  }
  return {};
}

void check_tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    refuse("tensor must be defined, got an undefined one");
  }
  if (tensor.is_meta() || tensor.layout() != at::kStrided) {
    refuse("tensor must be dense and have values, got " + tensor.toString() + " on " +
           tensor.device().str());
  }
  if (tensor.dim() > CallSignature::kMaxDimensions) {
    refuse("tensor must have at most " + std::to_string(CallSignature::kMaxDimensions) +
           " dimensions, got " + std::to_string(tensor.dim()));
  }
}

void check_one_device(const std::vector<at::Tensor>& tensors) {
  for (const auto& tensor : tensors) {
    if (tensor.device() != tensors[0].device()) {
      refuse("all tensors must be on one device, got " + tensors[0].device().str() + " and " +
             tensor.device().str());
    }
  }
}

void check_tensors(const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) {
    refuse("at least one tensor is needed, got none");
  }
  for (const auto& tensor : tensors) {
    check_tensor(tensor);
    if (tensor.scalar_type() != tensors[0].scalar_type()) {
      refuse(std::string("all tensors must have one dtype, got ") +
             c10::toString(tensors[0].scalar_type()) + " and " +
             c10::toString(tensor.scalar_type()));
    }
  }
  check_one_device(tensors);
}

void check_written(const std::vector<at::Tensor>& tensors) {
  for (const auto& tensor : tensors) {
    if (at::has_internal_overlap(tensor) == at::MemOverlap::Yes) {
      refuse("a tensor that is written must have memory for each element, got one of shape " +
             shape_text(tensor.sizes()) + " with strides " + shape_text(tensor.strides()));
    }
  }
}

void check_reducible(const at::Tensor& tensor, int32_t op) {
  if (op < 0 || op >= static_cast<int32_t>(kOpNames.size())) {
    refuse("op must be in [0, " + std::to_string(kOpNames.size()) + "), got " + std::to_string(op));
  }
  const auto type = tensor.scalar_type();
  const bool integral = c10::isIntegralType(type, /*includeBool=*/false) && type != at::kShort;
  const bool floating =
      type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
  if (!integral && !floating) {
    refuse(std::string("a reduction supports float, double, half, bfloat16, int8, uint8, int32 "
                       "and int64, got ") +
           c10::toString(type));
  }
  if (op == ProcessGroup::kMean && !floating) {
    refuse(std::string("a mean needs a floating-point dtype, got ") + c10::toString(type));
  }
  if (op >= ProcessGroup::kBand && !integral) {
    refuse(std::string("a bitwise reduction needs an integer dtype, got ") + c10::toString(type));
  }
}

void check_rank(const char* name, int64_t rank, int64_t world_size) {
  if (rank < 0 || rank >= world_size) {
    refuse(std::string(name) + " must be in [0, " + std::to_string(world_size) + "), got " +
           std::to_string(rank));
  }
}

}  // namespace torchfeed::detail
