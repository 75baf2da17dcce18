// SPDX-License-Identifier: Apache-2.0
#include "torch/mesh/gloo_workers.h"

#include <ATen/ATen.h>
#include <c10/util/thread_name.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

#include "torch/mesh/message_kind.h"

namespace torchfeed::detail {
namespace {

constexpr size_t kWorkers = 2;

c10::intrusive_ptr<c10d::ProcessGroupGloo::Options> without_threads(
    c10::intrusive_ptr<c10d::ProcessGroupGloo::Options> options) {
  options->threads = 0;
  return options;
}

}  // namespace

GlooWorkers::GlooWorkers(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size,
                         c10::intrusive_ptr<Options> options)
    : ProcessGroupGloo(store, rank, world_size, without_threads(std::move(options))) {
  workInProgress_.resize(kWorkers);
  try {
    for (size_t number = 0; number < kWorkers; ++number) {
      workers_.emplace_back([this, number] { work(number); });
    }
  } catch (...) {
    stop();
    throw;
  }
}

GlooWorkers::~GlooWorkers() { stop(); }

void GlooWorkers::stop() {
  {
    std::unique_lock lock(workMutex_);
    workConsumeCV_.wait(lock, [this] { return workQueue_.empty(); });
    stop_ = true;
  }
  workProduceCV_.notify_all();
  for (auto& worker : workers_) {
    worker.join();
  }
}

/// Performs operations as `ProcessGroupGloo::runLoop` does, whose lock guards the queue and, for
/// barriers, the operations that have been taken from it.
void GlooWorkers::work(size_t number) {
  c10::setThreadName("pt_gloo_runloop");
  std::unique_lock lock(workMutex_);
  while (true) {
    workProduceCV_.wait(lock, [this] { return stop_ || !workQueue_.empty(); });
    if (stop_) {
      return;
    }
    auto operation = std::move(workQueue_.front());
    workQueue_.pop_front();
    workInProgress_[number] = operation;
    lock.unlock();
    workConsumeCV_.notify_one();
    AsyncWork::execute(operation);
    lock.lock();
    workInProgress_[number].reset();
    ended_.notify_all();
  }
}

bool GlooWorkers::await_operations(std::chrono::milliseconds limit) {
  std::unique_lock lock(workMutex_);
  return ended_.wait_for(lock, limit, [this] {
    return workQueue_.empty() &&
           std::none_of(workInProgress_.begin(), workInProgress_.end(),
                        [](const auto& operation) { return operation.defined(); });
  });
}

bool await_operations(c10d::Backend& backend, std::chrono::milliseconds limit) {
  auto* gloo = dynamic_cast<GlooWorkers*>(&backend);
  return gloo == nullptr || gloo->await_operations(limit);
}

// A wait that expires ends all others of the backend. One for a connection that has failed before
// does not expire, but then the waits for that have ended, too.
void end_operations(c10d::Backend& backend) {
  auto* gloo = dynamic_cast<GlooWorkers*>(&backend);
  if (gloo == nullptr) {
    return;
  }
  for (int peer = 0; peer < gloo->getSize(); ++peer) {
    if (peer == gloo->getRank()) {
      continue;
    }
    std::vector<at::Tensor> nothing = {at::empty({1}, at::kByte)};
    try {
      (void)gloo->recv(nothing, peer, static_cast<int>(MessageKind::kNothing))
          ->wait(std::chrono::milliseconds(1));
    } catch (const std::exception&) {
      continue;
    }
  }
}

}  // namespace torchfeed::detail
