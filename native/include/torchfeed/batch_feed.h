// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torchfeed/export.h"
#include "torchfeed/file_columns.h"

namespace torchfeed {

/// libtorch's C++ data loader over columns of tensors or files: index lists go in, batches come out
/// in their order, or as they become ready.
///
/// Workers gather rows straight into reused slabs; the tensors of a batch are views of its slab. A
/// slab is written again only when nothing refers to it any more, so a tensor kept too long costs
/// memory, never wrong data. One thread at a time, except `interrupt`, which any thread may call.
class TORCHFEED_API BatchFeed {
 public:
  /// Where `take` tells what of a batch: its number, rows, bytes, and how long their gathering
  /// took.
  enum Told : int { kBatch, kRows, kBytes, kGatherNanos, kToldCount };

  /// @param columns     dense CPU tensors of equal first dimension, kept alive by the feed
  /// @param batch_rows  most rows of one batch, at least 1
  /// @param workers     worker threads; with 0 the caller's thread gathers
  /// @param prefetch    batches being gathered or waiting, at least 1
  /// @param in_order    whether batches come in the order of their requests, not as they are ready
  [[nodiscard]] static std::unique_ptr<BatchFeed> create(const std::vector<at::Tensor>& columns,
                                                         int64_t batch_rows, int64_t workers,
                                                         int64_t prefetch, bool in_order);
  /// @param columns  columns of equally many rows; the feed keeps their files open
  [[nodiscard]] static std::unique_ptr<BatchFeed> over_files(const FileColumns& columns,
                                                             int64_t batch_rows, int64_t workers,
                                                             int64_t prefetch, bool in_order);
  /// Gathers into memory that is page-locked for a device, for example `cuda:0`, and used again
  /// when the copies from it are over. Before the first `request`.
  void pin_for(const std::string& device);
  BatchFeed(const BatchFeed&) = delete;
  BatchFeed& operator=(const BatchFeed&) = delete;
  /// Ends the workers. One that does not come back from the system within half a second is left to
  /// a thread of its own, which frees what it uses when it does.
  ~BatchFeed();

  /// Drops what an earlier pass left unread and takes back the current batch. False if a worker
  /// does not come back from the system: the feed is of no more use then, but to be destroyed.
  [[nodiscard]] bool rewind();
  /// Queues the rows `indices[0..count)` as the batch with that number; at most `prefetch` before
  /// `start`.
  void request(int64_t batch, const int64_t* indices, int64_t count);
  /// Sets the workers to the queued batches; once a pass, after the first requests.
  void start();
  /// Waits for the next batch. The batch before it is taken back. Queue the request that replaces
  /// it first. A row that a file does not give any more fails its batch alone, with `kUnreadable`.
  ///
  /// @param timeout_ms  after which it throws `kTimeout` with what the workers do, and may be
  ///                    called again for the same batch; negative for no limit
  /// @param columns     becomes the columns, views of a slab: `[rows, ...]` each; in a vector that
  ///                    is used again they stay where they are
  /// @param told        has room for `kToldCount` numbers about the batch
  void take(int64_t timeout_ms, std::vector<at::Tensor>& columns, int64_t* told);
  /// The number of the batch that the last `take` gave, or failed to gather.
  [[nodiscard]] int64_t batch() const;
  /// Whether `take` would not wait for workers. Without workers it would always.
  [[nodiscard]] bool is_ready() const;
  /// The row for which the last `take` failed with `kUnreadable`, else -1.
  [[nodiscard]] int64_t unreadable_row() const;
  /// How many batches wait to be taken; 0 without workers.
  [[nodiscard]] int64_t ready() const;
  /// Memory of one batch.
  [[nodiscard]] int64_t slab_bytes() const;
  /// Makes unfinished work and a running `take` end at once, until the next `rewind`. Thread-safe.
  void interrupt();

 private:
  class Impl;
  explicit BatchFeed(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
