// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torchfeed/export.h"
#include "torchfeed/row_set.h"

namespace torchfeed {

/// libtorch's C++ data loader over the rows of a dataset: index lists go in, batches come out, in
/// the order of the lists or as they become ready.
///
/// Workers gather rows straight into reused slabs; the tensors of a batch are views of its slab. A
/// slab is reused only when nothing refers to it any more, so a tensor that is kept costs memory
/// but never sees wrong data. One thread at a time, except for `interrupt`, which is thread-safe.
class TORCHFEED_API BatchFeed {
 public:
  /// Offsets of the values that `take` writes to `info`: the batch number, the number of rows,
  /// their size in bytes, and how long it took to gather them; and of the time since the batch
  /// before, how long `take` waited for it, how long workers waited for a batch to be taken, as a
  /// sum, and the number of slabs that were allocated, except for those used once.
  enum Info : int {
    kBatch,
    kRows,
    kBytes,
    kGatherNanos,
    kAwaitNanos,
    kHeldNanos,
    kFreshSlabs,
    kInfoCount
  };

  /// @param rows        the rows to gather, kept alive by the feed
  /// @param batch_rows  maximum number of rows in a batch, at least 1
  /// @param workers     number of worker threads; with 0 the caller's thread gathers
  /// @param prefetch    maximum number of batches being gathered or waiting, at least 1
  /// @param in_order    whether batches arrive in the order requested rather than as they are ready
  [[nodiscard]] static std::unique_ptr<BatchFeed> create(const RowSet& rows, int64_t batch_rows,
                                                         int64_t workers, int64_t prefetch,
                                                         bool in_order);
  /// Uses slabs that are page-locked for a device, for example `cuda:0`. Each is reused once no
  /// tensor refers to it, which a `DeviceTransfer` holds until its copy has completed; with `once`,
  /// each is freed instead, and libtorch's allocator of host memory reuses it once all copies have
  /// completed, including the caller's. Must be called before the first `request`.
  void pin_for(const std::string& device, bool once);
  BatchFeed(const BatchFeed&) = delete;
  BatchFeed& operator=(const BatchFeed&) = delete;
  /// Ends the workers. If one is blocked in a system call for half a second, the feed is handed to
  /// a background thread, which frees the feed's resources once the call returns.
  ~BatchFeed();

  /// Drops the unread batches of an earlier pass and releases the current batch. Returns false if
  /// a worker is blocked in a system call: the feed can then only be destroyed.
  [[nodiscard]] bool rewind();
  /// Sets the key from which random steps of the rows are drawn, together with their index; after
  /// `rewind`, before the first `request` of the pass.
  void draw_for(int64_t seed, int64_t epoch);
  /// Queues the rows `indices[0..count)` as the batch with the given number; at most `prefetch`
  /// batches may be queued before `start`.
  void request(int64_t batch, const int64_t* indices, int64_t count);
  /// Starts the workers on the queued batches; once per pass, after the first requests.
  void start();
  /// Waits for the next batch and releases the previous one. Queue the request that replaces the
  /// batch first. If a row can no longer be read from its file, only its batch fails, with
  /// `kUnreadable`.
  ///
  /// @param timeout_ms  the time after which this throws `kTimeout` with a description of the
  ///                    workers' states; it may then be called again for the same batch.
  ///                    Negative for no limit
  /// @param columns     receives the columns, each a view `[rows, ...]` of a slab; if the vector
  ///                    is reused, the tensor objects stay at the same addresses
  /// @param info        room for `kInfoCount` values about the batch. If the batch could not be
  ///                    gathered, only its number is written; if no batch was taken, nothing is
  void take(int64_t timeout_ms, std::vector<at::Tensor>& columns, int64_t* info);
  /// Returns whether `take` would return without waiting for workers; always false without workers.
  [[nodiscard]] bool is_ready() const;
  /// Returns the row for which the last `take` failed with `kUnreadable`, else -1.
  [[nodiscard]] int64_t unreadable_row() const;
  /// Returns the number of batches ready to be taken; 0 without workers.
  [[nodiscard]] int64_t ready() const;
  /// Returns the memory that one batch occupies, in bytes.
  [[nodiscard]] int64_t slab_bytes() const;
  /// Ends unfinished work and a running `take` promptly, until the next `rewind`. Thread-safe.
  void interrupt();

 private:
  class Impl;
  explicit BatchFeed(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
