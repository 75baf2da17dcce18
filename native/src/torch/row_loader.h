// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/data/dataloader/stateless.h>
#include <torch/data/datasets/base.h>
#include <torch/data/samplers/base.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "torch/job_board.h"
#include "torch/row_columns.h"
#include "torch/slab_pool.h"
#include "torchfeed/error.h"

namespace torchfeed {

/// What all workers share: the columns, the slabs, and who does what.
struct RowSource {
  /// @param prefetch  most batches that are gathered before the consumer wants them
  RowSource(RowColumns all, int64_t batch_rows, int64_t workers, int64_t prefetch);

  [[nodiscard]] int64_t rows() const { return columns.front().rows; }

  const RowColumns columns;
  SlabPool slabs;
  const Stores stores;
  JobBoard board;
};

/// A slab on loan; it goes back when the last holder lets go, in whatever queue that is.
class Loan {
 public:
  explicit Loan(std::shared_ptr<RowSource> source)
      : source_(std::move(source)), slab_(source_->slabs.acquire()) {}
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  ~Loan() { source_->slabs.give_back(std::move(slab_)); }

  [[nodiscard]] SlabBlock& slab() const { return *slab_; }

 private:
  std::shared_ptr<RowSource> source_;
  std::unique_ptr<SlabBlock> slab_;
};

/// Why a batch could not be gathered: an `Error` in parts, since copies of an exception share their
/// text, and which thread lets go of the last is libtorch's affair.
struct Failure {
  ErrorCode code;
  std::string message;
};

/// A batch, or why there is none; neither slab nor failure if it was interrupted.
struct GatheredRows {
  size_t sequence = 0;  // of its job in the pass
  int64_t batch = 0;
  int64_t rows = 0;
  std::shared_ptr<const Loan> loan;
  std::optional<Failure> failure;
  int64_t unreadable_row = -1;
  int64_t nanos = 0;  // that it took
};

/// What libtorch's loader hands to a worker: the number of a job that is, or will be, on the board.
struct Ticket {
  size_t sequence;

  [[nodiscard]] static size_t size() { return 1; }  // libtorch takes 0 for the end
};

/// libtorch's view of the columns. Copies, one a worker, share the source.
class RowDataset : public torch::data::datasets::BatchDataset<RowDataset, GatheredRows, Ticket> {
 public:
  explicit RowDataset(std::shared_ptr<RowSource> source) : source_(std::move(source)) {}

  GatheredRows get_batch(Ticket ticket) override;
  [[nodiscard]] std::optional<size_t> size() const override {
    return static_cast<size_t>(source_->rows());
  }

 private:
  void gather(const Rows& rows, GatheredRows& into) const;

  std::shared_ptr<RowSource> source_;
};

/// A libtorch sampler without an end, so that workers always have a job to wait for.
class TicketSampler : public torch::data::samplers::Sampler<Ticket> {
 public:
  void reset(std::optional<size_t> /*new_size*/ = std::nullopt) override { next_ = 0; }
  std::optional<Ticket> next(size_t /*batch_size*/) override { return Ticket{next_++}; }
  void save(torch::serialize::OutputArchive& /*archive*/) const override {}
  void load(torch::serialize::InputArchive& /*archive*/) override {}

 private:
  size_t next_ = 0;
};

using StatelessLoader = torch::data::StatelessDataLoader<RowDataset, TicketSampler>;

/// libtorch's loader, with the way out in mid-epoch that its own iterator does not have.
class RowLoader : public StatelessLoader {
 public:
  using StatelessLoader::StatelessLoader;

  void start() { begin(); }
  /// The next batch, for which it waits without an end.
  std::optional<GatheredRows> take() { return next(); }
  void drop_jobs() { shuttle_.drain(); }
};

}  // namespace torchfeed
