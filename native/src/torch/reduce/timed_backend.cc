// SPDX-License-Identifier: Apache-2.0
#include "torch/reduce/timed_backend.h"

#include <ATen/ATen.h>

#include <utility>

#include "torch/reduce/gradient_exchange.h"

namespace torchfeed::detail {
namespace {

int64_t payload_bytes(const at::Tensor& tensor) {
  if (tensor.is_sparse()) {
    return static_cast<int64_t>(tensor._values().nbytes() + tensor._indices().nbytes());
  }
  return static_cast<int64_t>(tensor.nbytes());
}

class TimedBackend : public c10d::Backend {
 public:
  TimedBackend(c10::intrusive_ptr<c10d::Backend> backend, std::shared_ptr<ReductionLog> log)
      : Backend(backend->getRank(), backend->getSize()),
        backend_(std::move(backend)),
        log_(std::move(log)) {}

  const std::string getBackendName() const override { return backend_->getBackendName(); }

  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    return backend_->broadcast(tensors, options);
  }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    // The map of used parameters is the only tensor of integers that a reducer sends.
    if (at::isIntegralType(tensors.front().scalar_type(), /*includeBool=*/true)) {
      return backend_->allreduce(tensors, options);
    }
    const int64_t bytes = payload_bytes(tensors.front());
    const int64_t sent_bytes = tensors.front().is_sparse() ? sent_by_sparse_all_reduce(bytes)
                                                           : sent_by_all_reduce(bytes, getSize());
    return timed(bytes, sent_bytes, [&] { return backend_->allreduce(tensors, options); });
  }

  /// libtorch calls this for sparse tensors of a CUDA device, but `allreduce` for the host's.
  c10::intrusive_ptr<c10d::Work> allreduce_sparse(std::vector<at::Tensor>& tensors,
                                                  const c10d::AllreduceOptions& options) override {
    const int64_t bytes = payload_bytes(tensors.front());
    return timed(bytes, sent_by_sparse_all_reduce(bytes),
                 [&] { return backend_->allreduce_sparse(tensors, options); });
  }

 private:
  /// Every rank gathers the gradients of all ranks.
  [[nodiscard]] int64_t sent_by_sparse_all_reduce(int64_t bytes) const {
    return bytes * (getSize() - 1);
  }

  template <typename Start>
  c10::intrusive_ptr<c10d::Work> timed(int64_t bytes, int64_t sent_bytes, const Start& start) {
    const auto number = log_->begin(bytes, sent_bytes);
    auto work = start();
    work->getFuture()->addCallback(
        [log = log_, number](c10::ivalue::Future&) { log->end(number); });
    return work;
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
  std::shared_ptr<ReductionLog> log_;
};

}  // namespace

void ReductionLog::restart() {
  const std::lock_guard lock(mutex_);
  first_ += entries_.size();
  entries_.clear();
}

size_t ReductionLog::begin(int64_t bytes, int64_t sent_bytes) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({bytes, sent_bytes, Clock::now(), {}});
  return first_ + entries_.size() - 1;
}

void ReductionLog::end(size_t number) {
  const std::lock_guard lock(mutex_);
  if (number >= first_) {
    entries_[number - first_].end = Clock::now();
  }
}

void ReductionLog::end(size_t number, int64_t sent_bytes) {
  const std::lock_guard lock(mutex_);
  if (number >= first_) {
    entries_[number - first_].end = Clock::now();
    entries_[number - first_].sent_bytes = sent_bytes;
  }
}

std::vector<ReductionLog::Entry> ReductionLog::entries() const {
  const std::lock_guard lock(mutex_);
  auto entries = entries_;
  for (auto& entry : entries) {
    if (entry.end == Clock::time_point{}) {
      entry.end = Clock::now();
    }
  }
  return entries;
}

c10::intrusive_ptr<c10d::ProcessGroup> timed_group(
    const c10::intrusive_ptr<c10d::ProcessGroup>& group, std::shared_ptr<ReductionLog> log) {
  auto timed = c10::make_intrusive<c10d::ProcessGroup>(group->getRank(), group->getSize());
  for (const auto& device : group->getDeviceTypes()) {
    // A group takes one backend of each type.
    timed->setBackend(device.type(),
                      device.is_cpu() ? c10d::ProcessGroup::BackendType::GLOO
                                      : c10d::ProcessGroup::BackendType::CUSTOM,
                      c10::make_intrusive<TimedBackend>(group->getBackend(device.type()), log));
  }
  timed->setDefaultBackend(group->getBackendType());
  return timed;
}

}  // namespace torchfeed::detail
