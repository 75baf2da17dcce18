// SPDX-License-Identifier: Apache-2.0
#include "torch/reduce/exchange_thread.h"

#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>

#include <utility>
#include <vector>

#include "torch/base/device.h"
#include "torchfeed/error.h"

namespace torchfeed::detail {

class ExchangeThread::Hook : public c10d::CppCommHookInterface<ExchangeThread*> {
 public:
  using CppCommHookInterface::CppCommHookInterface;

  Future runHook(c10d::GradBucket& bucket) override { return state_->submit(bucket); }
};

ExchangeThread::ExchangeThread(ExchangeGroups groups, std::shared_ptr<GradientExchange> exchange,
                               std::shared_ptr<ReductionLog> log)
    : groups_(std::move(groups)),
      exchange_(std::move(exchange)),
      log_(std::move(log)),
      thread_([this] { work(); }) {}

ExchangeThread::~ExchangeThread() {
  bool is_busy = false;
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
    is_busy = !jobs_.empty();
  }
  changed_.notify_all();
  if (is_busy) {
    abort();
  }
  thread_.join();
}

void ExchangeThread::abort() {
  try {
    groups_.abort();
  } catch (const std::exception& e) {
    TORCH_WARN("aborting a gradient exchange: ", e.what());
  }
}

std::unique_ptr<c10d::CommHookInterface> ExchangeThread::hook() {
  return std::make_unique<Hook>(this);
}

GradientExchange& ExchangeThread::idle() {
  const std::lock_guard lock(mutex_);  // also shows the thread's writes
  if (!jobs_.empty()) {
    throw Error(ErrorCode::kIllegalState, "a bucket of gradients is being exchanged");
  }
  return *exchange_;
}

ExchangeThread::Future ExchangeThread::submit(const c10d::GradBucket& bucket) {
  const c10::Device device = bucket.getBuffer().device();
  auto gradients = c10::make_intrusive<c10::ivalue::Future>(
      c10::TensorType::get(),
      device.is_cpu() ? std::vector<c10::Device>() : std::vector<c10::Device>{device});
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(
        {{bucket.getBuffer(), bucket.getGradients(), bucket.getParameters(), bucket.isLast()},
         gradients,
         current_stream(device)});
  }
  changed_.notify_all();
  return gradients;
}

void ExchangeThread::work() {
  const at::NoGradGuard no_grad;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_closing_ || !jobs_.empty(); });
    if (jobs_.empty()) {
      return;
    }
    Job& job = jobs_.front();  // which stays in place when others are added
    lock.unlock();
    const c10::OptionalStreamGuard on_stream(job.stream);
    exchange(job.bucket);
    lock.lock();
    const Job done = std::move(job);
    jobs_.pop_front();
    lock.unlock();
    // The waiting thread may then close everything, and expect the group to be idle.
    if (failure_) {
      done.gradients->setError(failure_);
    } else {
      done.gradients->markCompleted(done.bucket.flat);
    }
    lock.lock();
  }
}

void ExchangeThread::exchange(const GradientBucket& bucket) {
  if (failure_) {
    return;
  }
  try {
    const auto number = log_->begin(static_cast<int64_t>(bucket.flat.nbytes()), 0);
    int64_t sent_bytes = 0;
    groups_.run([&](ExchangeRanks& ranks) {
      exchange_->run(ranks, bucket);
      sent_bytes = ranks.sent_bytes();
    });
    log_->end(number, sent_bytes);
  } catch (...) {
    failure_ = std::current_exception();
    abort();  // so that no rank waits for data that this one does not send
  }
}

}  // namespace torchfeed::detail
