// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/batch_feed.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "torch/base/guard.h"
#include "torch/base/live_count.h"
#include "torch/feed/row_loader.h"
#include "torch/feed/row_tables.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

/// The time that workers have to return from a system call after an interrupt; a gather returns
/// within the time of copying a few MB.
constexpr std::chrono::milliseconds kPatience{400};

void check_range(const char* name, int64_t value, int64_t least) {
  if (value < least) {
    throw Error(ErrorCode::kInvalidArgument, std::string(name) + " must be at least " +
                                                 std::to_string(least) + ", got " +
                                                 std::to_string(value));
  }
}

void check_options(int64_t batch_rows, int64_t workers, int64_t prefetch) {
  check_range("batch_rows", batch_rows, 1);
  check_range("workers", workers, 0);
  check_range("prefetch", prefetch, 1);
}

torch::data::DataLoaderOptions loader_options(int64_t batch_rows, int64_t workers, int64_t prefetch,
                                              bool in_order) {
  return torch::data::DataLoaderOptions(static_cast<size_t>(batch_rows))
      .workers(static_cast<size_t>(workers))
      // Enough that a worker finds another ticket when all submitted jobs have ended.
      .max_jobs(workers == 0 ? 0 : static_cast<size_t>(prefetch + workers))
      .enforce_ordering(in_order);
}

}  // namespace

class BatchFeed::Impl {
 public:
  Impl(SharedTable rows, int64_t batch_rows, int64_t workers, int64_t prefetch, bool in_order)
      : in_order_(in_order),
        source_(std::make_shared<RowSource>(std::move(rows), batch_rows, workers, prefetch)),
        loader_(RowDataset(source_), TicketSampler(),
                loader_options(batch_rows, workers, prefetch, in_order)) {}

  ~Impl() {
    source_->jobs.interrupt();
    source_->jobs.dismiss();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  bool rewind() {
    interrupt();
    current_.reset();
    if (!source_->jobs.await_idle(kPatience)) {
      return false;
    }
    if (source_->jobs.is_empty()) {
      source_->jobs.resume();  // the workers wait for the next job, in whichever pass it comes
    } else {
      source_->jobs.dismiss();
      loader_.drop_jobs();
      source_->jobs.reset();
      started_ = false;
      is_broken_ = false;
    }
    return true;
  }

  void request(int64_t batch, const int64_t* indices, int64_t count) {
    check_range("count", count, 1);
    const int64_t most = source_->slabs.layout().rows();
    if (count > most) {
      throw Error(ErrorCode::kInvalidArgument, "a batch holds at most " + std::to_string(most) +
                                                   " rows, got " + std::to_string(count));
    }
    Rows rows = std::exchange(spare_, {});
    check_rows(indices, count, source_->rows(), rows);
    source_->jobs.submit({batch, std::move(rows)});
  }

  void draw_for(const RandomKey& key) { source_->key = key; }

  void pin_for(const std::string& device, bool once) { source_->slabs.pin_for(device, once); }

  void start() {
    if (!started_) {
      loader_.start();
      started_ = true;
    }
  }

  void take(int64_t timeout_ms, std::vector<at::Tensor>& columns, int64_t* info) {
    columns.clear();
    current_.reset();
    unreadable_row_ = -1;
    if (source_->jobs.is_empty()) {
      throw Error(ErrorCode::kIllegalState, "no batch was requested");
    }
    if (is_broken_) {
      throw_broken();
    }
    if (loader_.options().workers > 0) {
      await(timeout_ms);
    }
    std::optional<GatheredRows> next = take_from_loader(info);
    if (!next->lease && !next->failure) {
      throw_interrupted();
    }
    spare_ = std::move(source_->jobs.take(next->sequence).rows);
    info[kBatch] = next->batch;
    if (next->failure) {
      unreadable_row_ = next->unreadable_row;
      throw Error(next->failure->code, next->failure->message);
    }
    current_ = std::move(next->lease);
    current_->slab().view_all(next->rows, columns);
    info[kRows] = next->rows;
    info[kBytes] = next->rows * source_->slabs.layout().row_bytes();
    info[kGatherNanos] = next->nanos;
    info[kAwaitNanos] = std::exchange(awaited_, {}).count();
    info[kHeldNanos] = source_->jobs.held().count();
    info[kFreshSlabs] = source_->slabs.fresh();
  }

  [[nodiscard]] int64_t unreadable_row() const { return unreadable_row_; }
  [[nodiscard]] bool is_ready() const { return source_->jobs.is_ready(due()); }
  [[nodiscard]] int64_t ready() const { return source_->jobs.ready(); }
  [[nodiscard]] int64_t slab_bytes() const { return source_->slabs.layout().bytes(); }

  void interrupt() { source_->jobs.interrupt(); }

  [[nodiscard]] bool await_idle() { return source_->jobs.await_idle(kPatience); }

 private:
  [[noreturn]] static void throw_broken() {
    throw Error(ErrorCode::kInternal, "libtorch's loader has lost a batch; open another pass");
  }

  [[noreturn]] static void throw_interrupted() {
    throw Error(ErrorCode::kIllegalState, "the feed was interrupted");
  }

  /// The job that must end before a batch can be taken; if not in order, any job will do.
  [[nodiscard]] std::optional<size_t> due() const {
    return in_order_ ? std::optional<size_t>(source_->jobs.taken()) : std::nullopt;
  }

  /// A worker of libtorch that lacks the memory to queue a result queues an error instead, which
  /// does not identify the batch; if in order, it is the next one.
  std::optional<GatheredRows> take_from_loader(int64_t* info) {
    try {
      std::optional<GatheredRows> next = loader_.take();
      if (next) {
        return next;
      }
    } catch (const torch::data::WorkerException& error) {
      if (in_order_) {
        const RowJob lost = source_->jobs.take(source_->jobs.taken());
        info[kBatch] = lost.batch;
        throw Error(ErrorCode::kOutOfMemory, error.what());
      }
    }
    is_broken_ = true;
    throw_broken();
  }

  void await(int64_t timeout_ms) {
    const auto limit = timeout_ms < 0 ? std::optional<JobQueue::Clock::duration>()
                                      : std::chrono::milliseconds(timeout_ms);
    const auto begin = JobQueue::Clock::now();
    const JobQueue::Outcome outcome = source_->jobs.await(due(), limit);
    awaited_ += JobQueue::Clock::now() - begin;
    switch (outcome) {
      case JobQueue::Outcome::kDone:
        return;
      case JobQueue::Outcome::kTimedOut:
        throw Error(ErrorCode::kTimeout, source_->jobs.describe());
      case JobQueue::Outcome::kInterrupted:
        throw_interrupted();
    }
  }

  const bool in_order_;
  const LiveCount live_;
  std::shared_ptr<RowSource> source_;
  std::shared_ptr<const SlabLease> current_;
  bool started_ = false;
  bool is_broken_ = false;  // a batch is lost, and it is unknown which one
  int64_t unreadable_row_ = -1;
  std::chrono::nanoseconds awaited_{0};  // since the last batch
  Rows spare_;
  RowLoader loader_;  // declared last: its threads end before the objects that they use
};

BatchFeed::BatchFeed(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

BatchFeed::~BatchFeed() {
  impl_->interrupt();
  if (impl_->await_idle()) {
    return;
  }
  // A worker is blocked in a system call: everything that it may still write is kept until then.
  Impl* const held_up = impl_.release();
  try {
    std::thread([held_up] { const std::unique_ptr<Impl> freed(held_up); }).detach();
  } catch (const std::system_error&) {  // no thread can be started to wait for it, so leak it
  }
}

std::unique_ptr<BatchFeed> BatchFeed::create(const RowSet& rows, int64_t batch_rows,
                                             int64_t workers, int64_t prefetch, bool in_order) {
  return guarded([&] {
    check_options(batch_rows, workers, prefetch);
    return std::unique_ptr<BatchFeed>(new BatchFeed(
        std::make_unique<Impl>(RowTables::of(rows), batch_rows, workers, prefetch, in_order)));
  });
}

void BatchFeed::pin_for(const std::string& device, bool once) {
  guarded([&] { impl_->pin_for(device, once); });
}

void BatchFeed::draw_for(int64_t seed, int64_t epoch) { impl_->draw_for({seed, epoch}); }

bool BatchFeed::rewind() {
  return guarded([&] { return impl_->rewind(); });
}

void BatchFeed::request(int64_t batch, const int64_t* indices, int64_t count) {
  guarded([&] { impl_->request(batch, indices, count); });
}

void BatchFeed::start() {
  guarded([&] { impl_->start(); });
}

void BatchFeed::take(int64_t timeout_ms, std::vector<at::Tensor>& columns, int64_t* info) {
  guarded([&] { impl_->take(timeout_ms, columns, info); });
}

int64_t BatchFeed::unreadable_row() const { return impl_->unreadable_row(); }

bool BatchFeed::is_ready() const { return impl_->is_ready(); }

int64_t BatchFeed::ready() const { return impl_->ready(); }

int64_t BatchFeed::slab_bytes() const { return impl_->slab_bytes(); }

void BatchFeed::interrupt() { impl_->interrupt(); }

}  // namespace torchfeed
