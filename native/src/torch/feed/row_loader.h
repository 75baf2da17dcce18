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

#include "core/rows/row_table.h"
#include "torch/feed/job_queue.h"
#include "torch/feed/slab_pool.h"
#include "torchfeed/error.h"

namespace torchfeed {

/// The state that all workers share: the rows, the slabs and the job queue.
struct RowSource {
  /// @param prefetch  maximum number of batches gathered ahead of the consumer
  RowSource(SharedTable rows, int64_t batch_rows, int64_t workers, int64_t prefetch);

  [[nodiscard]] int64_t rows() const { return table->rows(); }

  const SharedTable table;
  RandomKey key;  // of the pass; changes only while no job is queued or running
  SlabPool slabs;
  const Stores stores;
  JobQueue jobs;
};

/// A lease of a slab, which returns to the pool when the last holder of the lease is destroyed,
/// even inside a queue.
class SlabLease {
 public:
  explicit SlabLease(std::shared_ptr<RowSource> source)
      : source_(std::move(source)), slab_(source_->slabs.acquire()) {}
  SlabLease(const SlabLease&) = delete;
  SlabLease& operator=(const SlabLease&) = delete;
  ~SlabLease() { source_->slabs.give_back(std::move(slab_)); }

  [[nodiscard]] SlabBlock& slab() const { return *slab_; }

 private:
  std::shared_ptr<RowSource> source_;
  std::unique_ptr<SlabBlock> slab_;
};

/// The reason why a batch could not be gathered. It holds the parts of an `Error`, since copies of
/// an exception share their text, and libtorch decides which thread destroys the last copy.
struct Failure {
  ErrorCode code;
  std::string message;
};

/// A gathered batch, or the reason for its failure; neither of them if it was interrupted.
struct GatheredRows {
  size_t sequence = 0;  // the number of its job in the pass
  int64_t batch = 0;
  int64_t rows = 0;
  std::shared_ptr<const SlabLease> lease;
  std::optional<Failure> failure;
  int64_t unreadable_row = -1;
  int64_t nanos = 0;  // the time that gathering took
};

/// The request that libtorch's loader passes to a worker: the number of a job that has been or will
/// be submitted.
struct Ticket {
  size_t sequence;

  [[nodiscard]] static size_t size() { return 1; }  // to libtorch, 0 is the end
};

/// The rows as a libtorch dataset. Its copies, one per worker, share the source.
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

/// An endless libtorch sampler, so that workers always have a job to wait for.
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

/// libtorch's loader, extended by a way to leave an epoch early, which its iterator lacks.
class RowLoader : public StatelessLoader {
 public:
  using StatelessLoader::StatelessLoader;

  void start() { begin(); }
  /// Returns the next batch, waiting indefinitely.
  std::optional<GatheredRows> take() { return next(); }
  void drop_jobs() { shuttle_.drain(); }
};

}  // namespace torchfeed
