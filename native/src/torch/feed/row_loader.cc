// SPDX-License-Identifier: Apache-2.0
#include "torch/feed/row_loader.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "torch/base/guard.h"

namespace torchfeed {
namespace {

/// More than the processor's caches can be relied upon to hold between a worker and the consumer.
constexpr int64_t kBeyondCaches = int64_t{24} << 20;

Stores stores_of(const SlabLayout& layout, int64_t workers, int64_t prefetch) {
  const int64_t least = kBeyondCaches / (1 + std::min(prefetch, kBeyondCaches));
  return workers > 0 && layout.bytes() > least ? Stores::kStreamed : Stores::kCached;
}

/// A scope guard that ends a job however its scope is left: an unfinished job would be awaited.
class JobEnd {
 public:
  JobEnd(JobQueue& jobs, size_t sequence, Rows& rows)
      : jobs_(jobs), sequence_(sequence), rows_(rows) {}
  JobEnd(const JobEnd&) = delete;
  JobEnd& operator=(const JobEnd&) = delete;
  ~JobEnd() { jobs_.end(sequence_, std::move(rows_)); }

 private:
  JobQueue& jobs_;
  const size_t sequence_;
  Rows& rows_;
};

Failure parts(const Error& error) { return {error.code(), error.message()}; }

}  // namespace

RowSource::RowSource(SharedTable rows, int64_t batch_rows, int64_t workers, int64_t prefetch)
    : table(std::move(rows)),
      slabs(SlabLayout(table->columns(), batch_rows)),
      stores(stores_of(slabs.layout(), workers, prefetch)),
      jobs(workers, prefetch) {}

// An exception here would cost the loader its next job and end the epoch early, so a failure is
// returned as part of the batch, unless there is not even memory for that.
GatheredRows RowDataset::get_batch(Ticket ticket) {
  GatheredRows gathered;
  gathered.sequence = ticket.sequence;
  std::optional<RowJob> job = source_->jobs.begin(ticket.sequence);
  if (!job) {
    return gathered;
  }
  gathered.batch = job->batch;
  gathered.rows = static_cast<int64_t>(job->rows.size());
  const JobEnd end(source_->jobs, ticket.sequence, job->rows);
  const auto begin = JobQueue::Clock::now();
  try {
    guarded([&] { gather(job->rows, gathered); });
  } catch (const UnreadableRow& error) {
    gathered.failure = parts(error);
    gathered.unreadable_row = static_cast<int64_t>(job->rows[error.place()]);
  } catch (const Error& error) {
    gathered.failure = parts(error);
  }
  gathered.nanos =
      std::chrono::duration_cast<std::chrono::nanoseconds>(JobQueue::Clock::now() - begin).count();
  return gathered;
}

void RowDataset::gather(const Rows& rows, GatheredRows& into) const {
  const std::atomic<bool>& stop = source_->jobs.interrupted();
  if (stop) {
    return;
  }
  auto lease = std::make_shared<const SlabLease>(source_);
  if (source_->table->gather(lease->slab().targets(), {rows, {}, {}, source_->key}, stop,
                             source_->stores)) {
    into.lease = std::move(lease);
  }
}

}  // namespace torchfeed
