// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <torch/csrc/distributed/c10d/comm.hpp>

#include "torch/reduce/gradient_exchange.h"
#include "torch/reduce/timed_backend.h"

namespace torchfeed::detail {

/// The groups of an exchange, which nothing else uses, so that their order of calls is the
/// buckets'.
struct ExchangeGroups {
  /// Calls a function with the operations of the groups, and throws its exceptions, typed.
  std::function<void(const std::function<void(ExchangeRanks&)>&)> run;
  std::function<void()> abort;
};

/// Exchanges the buckets of a reducer in their order, in a thread of its own: an exchange waits for
/// the ranks several times, which neither the autograd engine nor Gloo's threads may do.
class ExchangeThread {
 public:
  /// @param log  gets an entry for each bucket
  ExchangeThread(ExchangeGroups groups, std::shared_ptr<GradientExchange> exchange,
                 std::shared_ptr<ReductionLog> log);
  ExchangeThread(const ExchangeThread&) = delete;
  ExchangeThread& operator=(const ExchangeThread&) = delete;
  /// Aborts the groups if a bucket is being exchanged or waits for it.
  ~ExchangeThread();

  /// Returns a hook through which a reducer passes its buckets; not to be called later than this
  /// object's destruction.
  [[nodiscard]] std::unique_ptr<c10d::CommHookInterface> hook();
  /// Returns the exchange, to be used until the next bucket; throws while a bucket is exchanged.
  [[nodiscard]] GradientExchange& idle();

 private:
  using Future = c10::intrusive_ptr<c10::ivalue::Future>;

  struct Job {
    GradientBucket bucket;
    Future gradients;
    std::optional<c10::Stream> stream;  // of the backward pass
  };

  class Hook;

  Future submit(const c10d::GradBucket& bucket);
  void work();
  void exchange(const GradientBucket& bucket);
  void abort();

  ExchangeGroups groups_;
  std::shared_ptr<GradientExchange> exchange_;  // outlives the thread, for one of another group
  std::shared_ptr<ReductionLog> log_;
  std::exception_ptr failure_;  // of the first bucket that failed; the later ones fail, too
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;  // the first one is being exchanged
  bool is_closing_ = false;
  std::thread thread_;
};

}  // namespace torchfeed::detail
