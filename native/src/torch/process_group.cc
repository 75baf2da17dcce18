// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/process_group.h"

#include <ATen/ATen.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <future>
#include <sstream>
#include <thread>
#include <utility>

#include "torch/collective_errors.h"
#include "torch/process_group_impl.h"

namespace torchfeed {
namespace {

constexpr int64_t kFingerprintWords = 16;
constexpr int64_t kHeaderWords = 4;
constexpr int64_t kMostDimensions = kFingerprintWords - kHeaderWords;
constexpr std::array<const char*, 5> kOpNames = {"sum", "mean", "product", "minimum", "maximum"};

enum Kind : int64_t { kRefused = -1, kBarrier, kAllReduce, kBroadcast, kAllGather };

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::kInvalidArgument, message);
}

std::string shape_text(at::IntArrayRef shape) {
  std::ostringstream out;
  out << shape;
  return out.str();
}

std::string describe(const int64_t* words) {
  static constexpr std::array<const char*, 4> kNames = {"barrier", "all-reduce", "broadcast",
                                                        "all-gather"};
  std::ostringstream out;
  out << kNames.at(static_cast<size_t>(words[0]));
  if (words[0] == kBarrier) {
    return out.str();
  }
  if (words[0] == kAllReduce) {
    out << " (" << kOpNames.at(static_cast<size_t>(words[1])) << ')';
  } else if (words[0] == kBroadcast) {
    out << " from rank " << words[1];
  }
  const auto dims = static_cast<size_t>(std::min(words[3], kMostDimensions));
  out << " of " << c10::toString(static_cast<c10::ScalarType>(words[2])) << ' '
      << shape_text(at::IntArrayRef(words + kHeaderWords, dims));
  return out.str();
}

void check_tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    refuse("tensor must be defined, got an undefined one");
  }
  if (!tensor.device().is_cpu() || tensor.layout() != at::kStrided) {
    refuse("tensor must be dense and on cpu, got " + tensor.toString() + " on " +
           tensor.device().str());
  }
  if (tensor.dim() > kMostDimensions) {
    refuse("tensor must have at most " + std::to_string(kMostDimensions) + " dimensions, got " +
           std::to_string(tensor.dim()));
  }
}

/// Returns the message with which `check` fails; empty if it succeeds.
template <class Check>
std::string refusal_by(Check check) {
  try {
    check();
  } catch (const Error& e) {
    return std::strchr(e.what(), '|') + 1;
  }
  return {};
}

c10d::ReduceOp::RedOpType c10d_op(int32_t op) {
  switch (op) {
    case 2:
      return c10d::ReduceOp::PRODUCT;
    case 3:
      return c10d::ReduceOp::MIN;
    case 4:
      return c10d::ReduceOp::MAX;
    default:
      return c10d::ReduceOp::SUM;
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
    refuse(std::string("an all-reduce supports float, double, half, bfloat16, int8, uint8, int32 "
                       "and int64, got ") +
           c10::toString(type));
  }
  if (op == 1 && !floating) {
    refuse(std::string("a mean needs a floating-point dtype, got ") + c10::toString(type));
  }
}

/// Gloo sends raw memory, so strided, conjugated or negated tensors are sent as a dense copy.
at::Tensor dense(const at::Tensor& tensor) {
  return tensor.detach().resolve_conj().resolve_neg().contiguous();
}

/// Views the same memory as bytes: Gloo supports few dtypes.
at::Tensor as_bytes(const at::Tensor& dense) { return dense.reshape({-1}).view(at::kByte); }

void copy_back(const at::Tensor& tensor, const at::Tensor& sent) {
  if (!sent.is_alias_of(tensor)) {
    tensor.detach().copy_(sent);
  }
}

}  // namespace

ProcessGroup::Impl::Impl(c10::intrusive_ptr<c10d::ProcessGroup> group, int64_t rank,
                         int64_t world_size)
    : group_(std::move(group)), rank_(rank), world_size_(world_size) {}

ProcessGroup::Impl::~Impl() {
  if (!group_) {
    return;
  }
  // Gloo's destructor waits for operations in flight; if a peer has stopped, until the timeout.
  try {
    auto ended = std::make_shared<std::promise<void>>();
    auto done = ended->get_future();
    std::thread([group = std::move(group_), ended]() mutable {
      group.reset();
      ended->set_value();
    }).detach();
    done.wait_for(std::chrono::seconds(2));
  } catch (const std::exception& e) {
    TORCH_WARN("closing a process group: ", e.what());
  }
}

at::Tensor ProcessGroup::Impl::gather(const at::Tensor& tensor) {
  std::vector<int64_t> shape = tensor.sizes().vec();
  shape.insert(shape.begin(), world_size_);
  at::Tensor result = at::empty(shape, tensor.options().requires_grad(false));
  if (!group_) {
    result.select(0, 0).copy_(tensor);
  } else if (tensor.numel() > 0) {
    std::vector<std::vector<at::Tensor>> outputs(1);
    for (int64_t rank = 0; rank < world_size_; ++rank) {
      outputs[0].push_back(as_bytes(result.select(0, rank)));
    }
    std::vector<at::Tensor> inputs = {as_bytes(dense(tensor))};
    group_->allgather(outputs, inputs)->wait();
  }
  return result;
}

// Mismatched sizes would abort the process inside Gloo, so they are detected first.
// A rank that rejects its own arguments announces it, since the others would wait for it.
void ProcessGroup::Impl::agree(int64_t kind, int64_t detail, const at::Tensor& tensor,
                               const std::string& refusal) {
  if (!group_) {
    if (!refusal.empty()) {
      refuse(refusal);
    }
    return;
  }
  at::Tensor words = at::zeros({kFingerprintWords}, at::kLong);
  auto* mine = words.mutable_data_ptr<int64_t>();
  mine[0] = refusal.empty() ? kind : int64_t{kRefused};
  mine[1] = detail;
  if (refusal.empty() && tensor.defined()) {
    mine[2] = static_cast<int64_t>(tensor.scalar_type());
    mine[3] = tensor.dim();
    std::copy(tensor.sizes().begin(), tensor.sizes().end(), mine + kHeaderWords);
  }
  const at::Tensor all = gather(words);
  const auto* rows = all.const_data_ptr<int64_t>();
  if (!refusal.empty()) {
    refuse(refusal);
  }
  for (int64_t other = 0; other < world_size_; ++other) {
    if (rows[other * kFingerprintWords] == kRefused) {
      refuse("rank " + std::to_string(other) +
             " rejected its own arguments; see its log for the reason");
    }
  }
  for (int64_t other = 1; other < world_size_; ++other) {
    const auto* row = rows + other * kFingerprintWords;
    if (!std::equal(rows, rows + kFingerprintWords, row)) {
      refuse("all ranks must make the same call: rank 0 calls " + describe(rows) + ", rank " +
             std::to_string(other) + " calls " + describe(row));
    }
  }
}

void ProcessGroup::Impl::barrier() {
  const std::lock_guard lock(mutex_);
  agree(kBarrier, 0, at::Tensor(), {});
  if (group_) {
    group_->barrier()->wait();
  }
}

void ProcessGroup::Impl::all_reduce(const at::Tensor& tensor, int32_t op) {
  const auto refusal = refusal_by([&] {
    check_tensor(tensor);
    check_reducible(tensor, op);
  });
  const std::lock_guard lock(mutex_);
  const at::NoGradGuard no_grad;
  agree(kAllReduce, op, tensor, refusal);
  if (!group_ || tensor.numel() == 0) {
    return;
  }
  std::vector<at::Tensor> sent = {dense(tensor)};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d_op(op);
  group_->allreduce(sent, options)->wait();
  if (op == 1) {
    sent[0].div_(world_size_);
  }
  copy_back(tensor, sent[0]);
}

void ProcessGroup::Impl::broadcast(const at::Tensor& tensor, int64_t root) {
  const auto refusal = refusal_by([&] {
    check_tensor(tensor);
    if (root < 0 || root >= world_size_) {
      refuse("root must be in [0, " + std::to_string(world_size_) + "), got " +
             std::to_string(root));
    }
  });
  const std::lock_guard lock(mutex_);
  const at::NoGradGuard no_grad;
  agree(kBroadcast, root, tensor, refusal);
  if (!group_ || tensor.numel() == 0) {
    return;
  }
  const at::Tensor copy = dense(tensor);
  std::vector<at::Tensor> sent = {as_bytes(copy)};
  c10d::BroadcastOptions options;
  options.rootRank = root;
  group_->broadcast(sent, options)->wait();
  copy_back(tensor, copy);
}

at::Tensor ProcessGroup::Impl::all_gather(const at::Tensor& tensor) {
  const auto refusal = refusal_by([&] { check_tensor(tensor); });
  const std::lock_guard lock(mutex_);
  const at::NoGradGuard no_grad;
  agree(kAllGather, 0, tensor, refusal);
  return gather(tensor);
}

std::vector<std::string> ProcessGroup::Impl::gather_texts(const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto length = static_cast<int64_t>(text.size());
  const at::Tensor lengths = gather(at::full({1}, length, at::kLong));
  const int64_t longest = lengths.max().item<int64_t>();
  at::Tensor bytes = at::zeros({longest}, at::kByte);
  std::memcpy(bytes.mutable_data_ptr<uint8_t>(), text.data(), text.size());
  const at::Tensor all = gather(bytes);
  std::vector<std::string> texts;
  for (int64_t rank = 0; rank < world_size_; ++rank) {
    const auto size = static_cast<size_t>(lengths[rank].item<int64_t>());
    const auto* row = all.const_data_ptr<uint8_t>() + rank * longest;
    texts.emplace_back(row, row + size);
  }
  return texts;
}

ProcessGroup::ProcessGroup(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

ProcessGroup::~ProcessGroup() = default;

std::unique_ptr<ProcessGroup> ProcessGroup::adopt(int64_t backend_address, int64_t rank,
                                                  int64_t world_size) {
  return guarded([&] {
    if (world_size < 1 || rank < 0 || rank >= world_size) {
      refuse("rank must be in [0, world size), got rank " + std::to_string(rank) + " of " +
             std::to_string(world_size));
    }
    if ((backend_address == 0) != (world_size == 1)) {
      refuse("a group of one rank must have no backend, and any other group must have one");
    }
    c10::intrusive_ptr<c10d::ProcessGroup> group;
    if (world_size > 1) {
      auto* raw = reinterpret_cast<c10d::Backend*>(static_cast<uintptr_t>(backend_address));
      auto backend = c10::intrusive_ptr<c10d::Backend>::reclaim_copy(raw);
      group = c10::make_intrusive<c10d::ProcessGroup>(static_cast<int>(rank),
                                                      static_cast<int>(world_size));
      group->setBackend(at::kCPU, c10d::ProcessGroup::BackendType::GLOO, backend);
      group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
    }
    auto impl = std::make_shared<Impl>(std::move(group), rank, world_size);
    return std::unique_ptr<ProcessGroup>(new ProcessGroup(std::move(impl)));
  });
}

int64_t ProcessGroup::rank() const { return impl_->rank(); }

int64_t ProcessGroup::world_size() const { return impl_->world_size(); }

void ProcessGroup::barrier() {
  detail::guarded_collective([&] { impl_->barrier(); });
}

void ProcessGroup::all_reduce(const torch::Tensor& tensor, int32_t op) {
  detail::guarded_collective([&] { impl_->all_reduce(tensor, op); });
}

void ProcessGroup::broadcast(const torch::Tensor& tensor, int64_t root) {
  detail::guarded_collective([&] { impl_->broadcast(tensor, root); });
}

torch::Tensor ProcessGroup::all_gather(const torch::Tensor& tensor) {
  return detail::guarded_collective([&] { return impl_->all_gather(tensor); });
}

}  // namespace torchfeed
