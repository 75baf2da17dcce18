// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "torchfeed/export.h"

namespace torchfeed {

/// A pass over the indices that one of libtorch's samplers delivers in one epoch.
///
/// The sampler is libtorch's own class, so the order and the batch boundaries are libtorch's; only
/// padding beyond the end of the dataset (more than two ranks per sample) is wrapped back into it.
/// Not thread-safe.
class TORCHFEED_API IndexCursor {
 public:
  /// `torch::data::samplers::DistributedRandomSampler`: the contiguous slice of `rank` out of
  /// `0..n-1`, padded or truncated to a multiple of `world_size` and then shuffled with `epoch`
  /// modulo 2^32. Memory: 8 bytes per index of all ranks. Time: one shuffle.
  [[nodiscard]] static std::unique_ptr<IndexCursor> distributed_random(int64_t n,
                                                                       int64_t world_size,
                                                                       int64_t rank, bool pad,
                                                                       int64_t epoch);

  /// `torch::data::samplers::DistributedSequentialSampler`. Constant memory and time.
  [[nodiscard]] static std::unique_ptr<IndexCursor> distributed_sequential(int64_t n,
                                                                           int64_t world_size,
                                                                           int64_t rank, bool pad);

  /// `torch::data::samplers::RandomSampler`, as if constructed right after
  /// `torch::manual_seed(seed + epoch)`; the process-wide generator is not touched.
  /// Memory: `8 * n` bytes. Time: one shuffle.
  [[nodiscard]] static std::unique_ptr<IndexCursor> random(int64_t n, int64_t seed, int64_t epoch);

  /// `torch::data::samplers::SequentialSampler`. Constant memory and time.
  [[nodiscard]] static std::unique_ptr<IndexCursor> sequential(int64_t n);

  IndexCursor(const IndexCursor&) = delete;
  IndexCursor& operator=(const IndexCursor&) = delete;
  ~IndexCursor();

  /// Writes the next `count` indices, or as many as remain, to `into`.
  ///
  /// @return the number of indices written; 0 at the end
  int64_t read(int64_t* into, int64_t count);

  /// Returns a buffer of this cursor for `window_length()` indices, at least 1. A Java caller that
  /// reads into it saves the copy on entry.
  [[nodiscard]] int64_t* window();
  [[nodiscard]] int64_t window_length() const;

  /// Returns the number of indices before the next one.
  [[nodiscard]] int64_t offset() const;

  [[nodiscard]] int64_t remaining() const;

  /// Moves to `offset`, in [0, `offset() + remaining()`], forward or backward in constant time.
  void seek(int64_t offset);

 private:
  class Impl;
  explicit IndexCursor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
