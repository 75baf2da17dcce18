// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/batch_feed.h"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "torch/file_columns_impl.h"
#include "torch/guard.h"
#include "torch/live_count.h"
#include "torch/row_columns.h"
#include "torch/row_loader.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

/// How long workers have to come back from the system after an interrupt; from a gather they come
/// in the time of a few MB.
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
      // Enough that a worker finds another when all that are put up have ended.
      .max_jobs(workers == 0 ? 0 : static_cast<size_t>(prefetch + workers))
      .enforce_ordering(in_order);
}

}  // namespace

class BatchFeed::Impl {
 public:
  Impl(RowColumns columns, int64_t batch_rows, int64_t workers, int64_t prefetch, bool in_order)
      : in_order_(in_order),
        source_(std::make_shared<RowSource>(std::move(columns), batch_rows, workers, prefetch)),
        loader_(RowDataset(source_), TicketSampler(),
                loader_options(batch_rows, workers, prefetch, in_order)) {}

  ~Impl() {
    source_->board.interrupt();
    source_->board.dismiss();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  bool rewind() {
    interrupt();
    current_.reset();
    if (!source_->board.await_idle(kPatience)) {
      return false;
    }
    if (source_->board.is_empty()) {
      source_->board.resume();  // the workers wait for the next job, of whatever pass
    } else {
      source_->board.dismiss();
      loader_.drop_jobs();
      source_->board.reset();
      started_ = false;
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
    rows.resize(static_cast<size_t>(count));
    for (size_t i = 0; i < rows.size(); ++i) {
      if (indices[i] < 0 || indices[i] >= source_->rows()) {
        throw Error(ErrorCode::kInvalidArgument, "index " + std::to_string(indices[i]) +
                                                     " is outside [0, " +
                                                     std::to_string(source_->rows()) + ")");
      }
      rows[i] = static_cast<size_t>(indices[i]);
    }
    source_->board.put({batch, std::move(rows)});
  }

  void pin_for(const std::string& device) { source_->slabs.pin_for(device); }

  void start() {
    if (!started_) {
      loader_.start();
      started_ = true;
    }
  }

  void take(int64_t timeout_ms, std::vector<at::Tensor>& columns, int64_t* told) {
    columns.clear();
    current_.reset();
    unreadable_row_ = -1;
    if (source_->board.is_empty()) {
      throw Error(ErrorCode::kIllegalState, "no batch was requested");
    }
    if (loader_.options().workers > 0) {
      await(timeout_ms);
    }
    std::optional<GatheredRows> next = loader_.take();
    if (!next) {
      throw Error(ErrorCode::kInternal, "libtorch's loader has lost a batch");
    }
    if (!next->loan && !next->failure) {
      throw_interrupted();
    }
    spare_ = source_->board.take(next->sequence);
    batch_ = next->batch;
    if (next->failure) {
      unreadable_row_ = next->unreadable_row;
      throw Error(next->failure->code, next->failure->message);
    }
    current_ = std::move(next->loan);
    current_->slab().view_all(next->rows, columns);
    told[kBatch] = batch_;
    told[kRows] = next->rows;
    told[kBytes] = next->rows * source_->slabs.layout().row_bytes();
    told[kGatherNanos] = next->nanos;
  }

  [[nodiscard]] int64_t batch() const { return batch_; }
  [[nodiscard]] int64_t unreadable_row() const { return unreadable_row_; }
  [[nodiscard]] bool is_ready() const { return source_->board.is_ready(due()); }
  [[nodiscard]] int64_t ready() const { return source_->board.ready(); }
  [[nodiscard]] int64_t slab_bytes() const { return source_->slabs.layout().bytes(); }

  void interrupt() { source_->board.interrupt(); }

  [[nodiscard]] bool await_idle() { return source_->board.await_idle(kPatience); }

 private:
  [[noreturn]] static void throw_interrupted() {
    throw Error(ErrorCode::kIllegalState, "the feed was interrupted");
  }

  /// The job that must end before a batch can be taken; none in particular without order.
  [[nodiscard]] std::optional<size_t> due() const {
    return in_order_ ? std::optional<size_t>(source_->board.taken()) : std::nullopt;
  }

  void await(int64_t timeout_ms) {
    const auto limit = timeout_ms < 0 ? std::optional<JobBoard::Clock::duration>()
                                      : std::chrono::milliseconds(timeout_ms);
    switch (source_->board.await(due(), limit)) {
      case JobBoard::Outcome::kEnded:
        return;
      case JobBoard::Outcome::kTimedOut:
        throw Error(ErrorCode::kTimeout, source_->board.describe());
      case JobBoard::Outcome::kInterrupted:
        throw_interrupted();
    }
  }

  const bool in_order_;
  const LiveCount live_;
  std::shared_ptr<RowSource> source_;
  std::shared_ptr<const Loan> current_;
  bool started_ = false;
  int64_t batch_ = -1;
  int64_t unreadable_row_ = -1;
  Rows spare_;
  RowLoader loader_;  // last: its threads end before what they use
};

BatchFeed::BatchFeed(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

BatchFeed::~BatchFeed() {
  impl_->interrupt();
  if (impl_->await_idle()) {
    return;
  }
  // A worker does not come back from the system: whatever it may still write is kept until it does.
  Impl* const held_up = impl_.release();
  try {
    std::thread([held_up] { const std::unique_ptr<Impl> freed(held_up); }).detach();
  } catch (const std::system_error&) {  // no thread to wait with, so for ever
  }
}

std::unique_ptr<BatchFeed> BatchFeed::create(const std::vector<at::Tensor>& columns,
                                             int64_t batch_rows, int64_t workers, int64_t prefetch,
                                             bool in_order) {
  return guarded([&] {
    RowColumns checked = columns_of(columns);
    check_options(batch_rows, workers, prefetch);
    return std::unique_ptr<BatchFeed>(new BatchFeed(
        std::make_unique<Impl>(std::move(checked), batch_rows, workers, prefetch, in_order)));
  });
}

std::unique_ptr<BatchFeed> BatchFeed::over_files(const FileColumns& columns, int64_t batch_rows,
                                                 int64_t workers, int64_t prefetch, bool in_order) {
  return guarded([&] {
    RowColumns checked = columns_of(columns.impl_->columns);
    check_options(batch_rows, workers, prefetch);
    return std::unique_ptr<BatchFeed>(new BatchFeed(
        std::make_unique<Impl>(std::move(checked), batch_rows, workers, prefetch, in_order)));
  });
}

void BatchFeed::pin_for(const std::string& device) {
  guarded([&] { impl_->pin_for(device); });
}

bool BatchFeed::rewind() {
  return guarded([&] { return impl_->rewind(); });
}

void BatchFeed::request(int64_t batch, const int64_t* indices, int64_t count) {
  guarded([&] { impl_->request(batch, indices, count); });
}

void BatchFeed::start() {
  guarded([&] { impl_->start(); });
}

void BatchFeed::take(int64_t timeout_ms, std::vector<at::Tensor>& columns, int64_t* told) {
  guarded([&] { impl_->take(timeout_ms, columns, told); });
}

int64_t BatchFeed::batch() const { return impl_->batch(); }

int64_t BatchFeed::unreadable_row() const { return impl_->unreadable_row(); }

bool BatchFeed::is_ready() const { return impl_->is_ready(); }

int64_t BatchFeed::ready() const { return impl_->ready(); }

int64_t BatchFeed::slab_bytes() const { return impl_->slab_bytes(); }

void BatchFeed::interrupt() { impl_->interrupt(); }

}  // namespace torchfeed
