// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>
#include <vector>

namespace torchfeed::testing {

/// The meeting point at which the ranks of one process, each a thread, exchange their tensors.
class Exchange {
 public:
  explicit Exchange(size_t ranks) : slots_(ranks) {}

  std::vector<at::Tensor> all(size_t rank, const at::Tensor& tensor) {
    std::unique_lock lock(mutex_);
    if (!failure_.empty()) {
      throw std::runtime_error(failure_);
    }
    const auto round = round_;
    slots_[rank] = tensor.detach().clone();
    if (++arrived_ == slots_.size()) {
      arrived_ = 0;
      ++round_;
      complete_ = slots_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round != round_; });
    return complete_;
  }

  /// Returns the number of collectives so far.
  [[nodiscard]] size_t rounds() {
    const std::lock_guard lock(mutex_);
    return round_;
  }

  /// Makes every later collective and message fail with this text.
  void fail_with(std::string text) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(text);
    changed_.notify_all();
  }

  void send(int from, int to, const at::Tensor& message) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) {
      mail_[{from, to}].push_back(message.clone());
    }
    changed_.notify_all();
  }

  at::Tensor receive(int from, int to) {
    std::unique_lock lock(mutex_);
    auto& mail = mail_[{from, to}];
    changed_.wait(lock, [&] { return !failure_.empty() || !mail.empty(); });
    if (!mail.empty()) {
      at::Tensor message = std::move(mail.front());
      mail.pop_front();
      return message;
    }
    throw std::runtime_error(failure_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<at::Tensor> slots_;
  std::vector<at::Tensor> complete_;
  size_t arrived_ = 0;
  size_t round_ = 0;
  std::string failure_;
  std::map<std::pair<int, int>, std::deque<at::Tensor>> mail_;  // from one rank to another
};

/// Completed work, successful or failed.
class ThreadWork : public c10d::Work {
 public:
  explicit ThreadWork(c10::intrusive_ptr<c10::ivalue::Future> future)
      : future_(std::move(future)) {}

  bool wait(std::chrono::milliseconds /*timeout*/) override {
    future_->waitAndThrow();
    return true;
  }

  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

/// A message, which is sent or received when it is awaited.
class MessageWork : public c10d::Work {
 public:
  explicit MessageWork(std::function<void()> body) : body_(std::move(body)) {}

  bool wait(std::chrono::milliseconds /*timeout*/) override {
    body_();
    return true;
  }

 private:
  std::function<void()> body_;
};

/// A backend over an `Exchange`: failures arrive, as with Gloo, when the work is awaited.
class ThreadBackend : public c10d::Backend {
 public:
  ThreadBackend(std::shared_ptr<Exchange> exchange, int rank, int size)
      : Backend(rank, size), exchange_(std::move(exchange)) {}

  const std::string getBackendName() const override { return "thread"; }

  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    return run(tensors, [&](const std::vector<at::Tensor>& all) {
      tensors[0].copy_(all[static_cast<size_t>(options.rootRank)]);
    });
  }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    return run(tensors, [&](const std::vector<at::Tensor>& all) {
      if (tensors[0].is_sparse()) {
        at::Tensor sum = all[0];
        for (size_t rank = 1; rank < all.size(); ++rank) {
          sum = sum + all[rank];
        }
        tensors[0].copy_(sum);
        return;
      }
      const at::Tensor stacked = at::stack(all);
      if (options.reduceOp.op_ == c10d::ReduceOp::MAX) {
        tensors[0].copy_(stacked.amax(0));
      } else {
        tensors[0].copy_(stacked.sum(0));
      }
    });
  }

  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs,
                                           const c10d::AllgatherOptions& /*options*/) override {
    return run(inputs, [&](const std::vector<at::Tensor>& all) {
      for (size_t rank = 0; rank < all.size(); ++rank) {
        outputs[0][rank].copy_(all[rank]);
      }
    });
  }

  c10::intrusive_ptr<c10d::Work> send(std::vector<at::Tensor>& tensors, int to,
                                      int /*tag*/) override {
    exchange_->send(getRank(), to, tensors[0]);
    return c10::make_intrusive<MessageWork>([] {});
  }

  c10::intrusive_ptr<c10d::Work> recv(std::vector<at::Tensor>& tensors, int from,
                                      int /*tag*/) override {
    return c10::make_intrusive<MessageWork>([this, from, tensor = tensors[0]] {
      const at::Tensor message = exchange_->receive(from, getRank());
      tensor.narrow(0, 0, message.numel()).copy_(message);
    });
  }

  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions& /*options*/) override {
    std::vector<at::Tensor> nothing = {at::zeros({1})};
    return run(nothing, [](const std::vector<at::Tensor>&) {});
  }

 private:
  template <class Body>
  c10::intrusive_ptr<c10d::Work> run(const std::vector<at::Tensor>& tensors, Body&& body) {
    auto future =
        c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
    try {
      body(exchange_->all(static_cast<size_t>(getRank()), tensors[0]));
      future->markCompleted(c10::IValue(tensors));
    } catch (const std::exception&) {
      future->setError(std::current_exception());
    }
    return c10::make_intrusive<ThreadWork>(std::move(future));
  }

  std::shared_ptr<Exchange> exchange_;
};

}  // namespace torchfeed::testing
