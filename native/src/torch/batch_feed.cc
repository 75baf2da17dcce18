// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/batch_feed.h"

#include <torch/data/dataloader/stateless.h>
#include <torch/data/datasets/base.h>
#include <torch/data/samplers/base.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "core/file_column.h"
#include "core/row_gather.h"
#include "torch/file_columns_impl.h"
#include "torch/guard.h"
#include "torch/live_count.h"
#include "torch/slab_pool.h"

namespace torchfeed {
namespace {

using Rows = std::vector<size_t>;

/// The rows of a batch, and where its worker tells that it is done with them.
struct Request {
  Rows rows;
  std::shared_ptr<std::atomic<bool>> gathered;

  [[nodiscard]] size_t size() const { return rows.size(); }  // libtorch asks for it
};

constexpr int64_t kAlignment = 64;

/// One column of a batch: where its rows come from, what they are, and where a slab holds them.
struct Column {
  at::Tensor tensor;                        // rows in memory, or undefined
  std::shared_ptr<const FileColumn> files;  // rows in files, or null
  int64_t rows;
  at::TensorOptions options;
  std::vector<int64_t> row_sizes;
  int64_t row_bytes;
  int64_t slab_offset = 0;

  /// False if it gave up because `stop` was set.
  bool gather(std::byte* slab, const Rows& wanted, const std::atomic<bool>& stop) const {
    std::byte* target = slab + slab_offset;
    if (files) {
      return files->gather(target, wanted, stop);
    }
    gather_rows(target, static_cast<const std::byte*>(tensor.const_data_ptr()),
                static_cast<size_t>(row_bytes), wanted);
    return true;
  }
};

using Columns = std::vector<Column>;

/// What all workers share: the columns, where each lies in a slab, and the slabs.
struct Source {
  Source(Columns unplaced, int64_t batch_rows)
      : columns(lay_out(std::move(unplaced), batch_rows)),
        slabs(columns.back().slab_offset + columns.back().row_bytes * batch_rows) {}

  static Columns lay_out(Columns columns, int64_t batch_rows) {
    int64_t offset = 0;
    for (Column& column : columns) {
      column.slab_offset = offset;
      int64_t bytes = 0;
      if (__builtin_mul_overflow(column.row_bytes, batch_rows, &bytes) ||
          __builtin_add_overflow(offset, bytes, &offset) ||
          __builtin_add_overflow(offset, kAlignment - 1, &offset)) {
        throw Error(ErrorCode::kOutOfMemory,
                    "a batch of " + std::to_string(batch_rows) + " rows is beyond all memory");
      }
      offset = offset / kAlignment * kAlignment;
    }
    return columns;
  }

  [[nodiscard]] int64_t rows() const { return columns.front().rows; }

  const Columns columns;
  SlabPool slabs;
  std::atomic<bool> interrupted{false};
};

/// A slab on loan; it goes back when the last holder lets go, in whatever queue that is.
class Loan {
 public:
  explicit Loan(std::shared_ptr<Source> source)
      : source_(std::move(source)), slab_(source_->slabs.acquire()) {}
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  ~Loan() { source_->slabs.give_back(std::move(slab_)); }

  [[nodiscard]] const at::Tensor& slab() const { return slab_; }

 private:
  std::shared_ptr<Source> source_;
  at::Tensor slab_;
};

struct Gathered {
  std::shared_ptr<const Loan> loan;
  int64_t rows = 0;
  std::optional<Error> error;
  int64_t unreadable_row = -1;
};

/// libtorch's view of the columns. Copies, one a worker, share the source.
class RowDataset : public torch::data::datasets::BatchDataset<RowDataset, Gathered, Request> {
 public:
  explicit RowDataset(std::shared_ptr<Source> source) : source_(std::move(source)) {}

  // An exception here would cost the loader its next job and end the epoch early: it travels as
  // part of the batch instead.
  Gathered get_batch(Request request) override {
    Gathered gathered = gather(request.rows);
    request.gathered->store(true, std::memory_order_release);
    return gathered;
  }

  [[nodiscard]] std::optional<size_t> size() const override {
    return static_cast<size_t>(source_->rows());
  }

 private:
  Gathered gather(const Rows& rows) {
    Gathered gathered;
    if (source_->interrupted.load(std::memory_order_relaxed)) {
      return gathered;
    }
    try {
      guarded([&] {
        auto loan = std::make_shared<const Loan>(source_);
        auto* slab = static_cast<std::byte*>(loan->slab().mutable_data_ptr());
        for (const Column& column : source_->columns) {
          if (!column.gather(slab, rows, source_->interrupted)) {
            return;
          }
        }
        gathered.rows = static_cast<int64_t>(rows.size());
        gathered.loan = std::move(loan);
      });
    } catch (const UnreadableRow& error) {
      gathered.error = error;
      gathered.unreadable_row = error.row();
    } catch (const Error& error) {
      gathered.error = error;
    }
    return gathered;
  }

  std::shared_ptr<Source> source_;
};

/// A libtorch sampler whose batches come from outside, in the order in which they were queued.
class QueuedBatches : public torch::data::samplers::Sampler<Request> {
 public:
  explicit QueuedBatches(std::shared_ptr<std::deque<Request>> queue) : queue_(std::move(queue)) {}

  void reset(std::optional<size_t> /*new_size*/ = std::nullopt) override {}
  std::optional<Request> next(size_t /*batch_size*/) override {
    if (queue_->empty()) {
      return std::nullopt;
    }
    Request request = std::move(queue_->front());
    queue_->pop_front();
    return request;
  }
  void save(torch::serialize::OutputArchive& /*archive*/) const override {}
  void load(torch::serialize::InputArchive& /*archive*/) override {}

 private:
  std::shared_ptr<std::deque<Request>> queue_;
};

using StatelessLoader = torch::data::StatelessDataLoader<RowDataset, QueuedBatches>;

/// libtorch's loader, with the way out in mid-epoch that its own iterator does not have.
class Loader : public StatelessLoader {
 public:
  using StatelessLoader::StatelessLoader;

  void start() {
    delivered_ = 0;
    begin();
  }

  std::optional<Gathered> take() {
    // Its own top-up comes only after a result, so a loader that ran dry would stay dry.
    while (sequence_number_ - delivered_ < options().max_jobs) {
      const size_t before = sequence_number_;
      prefetch(1);
      if (sequence_number_ == before) {
        break;
      }
    }
    ++delivered_;
    return next();
  }

  void drop_jobs() { shuttle_.drain(); }

 private:
  size_t delivered_ = 0;
};

void check_some(size_t columns) {
  if (columns == 0) {
    throw Error(ErrorCode::kInvalidArgument, "a feed needs at least one column");
  }
}

Columns columns_of(const std::vector<at::Tensor>& columns) {
  check_some(columns.size());
  Columns checked;
  for (size_t i = 0; i < columns.size(); ++i) {
    const at::Tensor& column = columns[i];
    const bool dense = column.defined() && column.layout() == at::kStrided && column.dim() >= 1 &&
                       column.device().is_cpu() && column.is_contiguous() && !column.is_conj() &&
                       !column.is_neg();
    if (!dense || column.size(0) != columns[0].size(0)) {
      throw Error(ErrorCode::kInvalidArgument,
                  "column " + std::to_string(i) +
                      " must be a contiguous CPU tensor with as many rows as column 0");
    }
    const int64_t rows = column.size(0);
    const int64_t row_bytes = rows == 0 ? 0 : static_cast<int64_t>(column.nbytes()) / rows;
    checked.push_back(
        {column, nullptr, rows, column.options(), column.sizes().slice(1).vec(), row_bytes});
  }
  return checked;
}

Columns columns_of(const std::vector<TypedFiles>& columns) {
  check_some(columns.size());
  Columns checked;
  for (const TypedFiles& column : columns) {
    const int64_t rows = column.files->rows();
    if (rows != columns[0].files->rows()) {
      throw Error(ErrorCode::kInvalidArgument, "column " + std::to_string(checked.size()) +
                                                   " must have as many rows as column 0 (" +
                                                   std::to_string(columns[0].files->rows()) +
                                                   "), got " + std::to_string(rows));
    }
    checked.push_back({at::Tensor(), column.files, rows, at::TensorOptions().dtype(column.dtype),
                       column.row_sizes, column.files->row_bytes()});
  }
  return checked;
}

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

torch::data::DataLoaderOptions loader_options(int64_t batch_rows, int64_t workers,
                                              int64_t prefetch) {
  return torch::data::DataLoaderOptions(static_cast<size_t>(batch_rows))
      .workers(static_cast<size_t>(workers))
      .max_jobs(workers == 0 ? 0 : static_cast<size_t>(prefetch))  // jobs are for workers only
      .enforce_ordering(true);
}

}  // namespace

class BatchFeed::Impl {
 public:
  Impl(Columns columns, int64_t batch_rows, int64_t workers, int64_t prefetch)
      : batch_rows_(batch_rows),
        source_(std::make_shared<Source>(std::move(columns), batch_rows)),
        queue_(std::make_shared<std::deque<Request>>()),
        loader_(RowDataset(source_), QueuedBatches(queue_),
                loader_options(batch_rows, workers, prefetch)) {}

  ~Impl() { source_->interrupted = true; }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void rewind() {
    source_->interrupted = true;
    queue_->clear();
    loader_.drop_jobs();
    gathered_.clear();
    source_->interrupted = false;
    current_.reset();
  }

  void request(const int64_t* indices, int64_t count) {
    check_range("count", count, 1);
    if (count > batch_rows_) {
      throw Error(ErrorCode::kInvalidArgument, "a batch holds at most " +
                                                   std::to_string(batch_rows_) + " rows, got " +
                                                   std::to_string(count));
    }
    Rows rows(static_cast<size_t>(count));
    for (size_t i = 0; i < rows.size(); ++i) {
      if (indices[i] < 0 || indices[i] >= source_->rows()) {
        throw Error(ErrorCode::kInvalidArgument, "index " + std::to_string(indices[i]) +
                                                     " is outside [0, " +
                                                     std::to_string(source_->rows()) + ")");
      }
      rows[i] = static_cast<size_t>(indices[i]);
    }
    gathered_.push_back(std::make_shared<std::atomic<bool>>(false));
    queue_->push_back({std::move(rows), gathered_.back()});
  }

  void pin_for(const std::string& device) { source_->slabs.pin_for(device); }

  [[nodiscard]] bool is_ready() const {
    return !gathered_.empty() && gathered_.front()->load(std::memory_order_acquire);
  }

  void start() { loader_.start(); }

  std::vector<at::Tensor> take() {
    current_.reset();
    unreadable_row_ = -1;
    if (!gathered_.empty()) {
      gathered_.pop_front();
    }
    std::optional<Gathered> next = loader_.take();
    if (!next) {
      throw Error(ErrorCode::kIllegalState, "no batch was requested");
    }
    if (next->error) {
      unreadable_row_ = next->unreadable_row;
      throw Error(*next->error);
    }
    if (!next->loan) {
      throw Error(ErrorCode::kIllegalState, "the feed was interrupted");
    }
    current_ = std::move(next->loan);
    return views(next->rows);
  }

  [[nodiscard]] int64_t unreadable_row() const { return unreadable_row_; }

  void interrupt() { source_->interrupted = true; }

 private:
  std::vector<at::Tensor> views(int64_t rows) const {
    std::vector<at::Tensor> tensors;
    tensors.reserve(source_->columns.size());
    for (const Column& column : source_->columns) {
      std::vector<int64_t> sizes = {rows};
      sizes.insert(sizes.end(), column.row_sizes.begin(), column.row_sizes.end());
      at::Tensor view = at::empty({0}, column.options);
      view.set_(current_->slab().storage(),
                column.slab_offset / static_cast<int64_t>(view.element_size()), sizes);
      tensors.push_back(std::move(view));
    }
    return tensors;
  }

  const int64_t batch_rows_;
  const LiveCount live_;
  std::shared_ptr<Source> source_;
  std::shared_ptr<std::deque<Request>> queue_;
  std::deque<std::shared_ptr<std::atomic<bool>>> gathered_;  // of each batch that was not taken
  std::shared_ptr<const Loan> current_;
  int64_t unreadable_row_ = -1;
  Loader loader_;  // last: its threads end before what they use
};

BatchFeed::BatchFeed(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

BatchFeed::~BatchFeed() = default;

std::unique_ptr<BatchFeed> BatchFeed::create(const std::vector<at::Tensor>& columns,
                                             int64_t batch_rows, int64_t workers,
                                             int64_t prefetch) {
  return guarded([&] {
    Columns checked = columns_of(columns);
    check_options(batch_rows, workers, prefetch);
    return std::unique_ptr<BatchFeed>(
        new BatchFeed(std::make_unique<Impl>(std::move(checked), batch_rows, workers, prefetch)));
  });
}

std::unique_ptr<BatchFeed> BatchFeed::over_files(const FileColumns& columns, int64_t batch_rows,
                                                 int64_t workers, int64_t prefetch) {
  return guarded([&] {
    Columns checked = columns_of(columns.impl_->columns);
    check_options(batch_rows, workers, prefetch);
    return std::unique_ptr<BatchFeed>(
        new BatchFeed(std::make_unique<Impl>(std::move(checked), batch_rows, workers, prefetch)));
  });
}

void BatchFeed::rewind() {
  guarded([&] { impl_->rewind(); });
}

void BatchFeed::request(const int64_t* indices, int64_t count) {
  guarded([&] { impl_->request(indices, count); });
}

void BatchFeed::start() {
  guarded([&] { impl_->start(); });
}

std::vector<at::Tensor> BatchFeed::take() {
  return guarded([&] { return impl_->take(); });
}

void BatchFeed::pin_for(const std::string& device) {
  guarded([&] { impl_->pin_for(device); });
}

bool BatchFeed::is_ready() const { return impl_->is_ready(); }

int64_t BatchFeed::unreadable_row() const { return impl_->unreadable_row(); }

void BatchFeed::interrupt() { impl_->interrupt(); }

}  // namespace torchfeed
