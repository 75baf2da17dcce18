// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "torchfeed/export.h"

namespace torchfeed {

/// One pass over the indices that one of libtorch's samplers delivers in one epoch.
///
/// The sampler inside is libtorch's own class, so order and batch boundaries are its order and its
/// boundaries; only padding that leaves the dataset (more than two ranks per sample) is wrapped
/// back into it. Not thread-safe.
class TORCHFEED_API IndexCursor {
 public:
  /// `torch::data::samplers::DistributedRandomSampler`: the contiguous slice of `rank` out of
  /// `0..n-1`, padded or cut to a multiple of `world_size` and then shuffled with `epoch` modulo
  /// 2^32. Memory: 8 bytes for each index of all ranks. Time: one shuffle.
  [[nodiscard]] static std::unique_ptr<IndexCursor> distributed_random(int64_t n,
                                                                       int64_t world_size,
                                                                       int64_t rank, bool pad,
                                                                       int64_t epoch);

  /// `torch::data::samplers::DistributedSequentialSampler`. Constant memory and time.
  [[nodiscard]] static std::unique_ptr<IndexCursor> distributed_sequential(int64_t n,
                                                                           int64_t world_size,
                                                                           int64_t rank, bool pad);

  /// `torch::data::samplers::RandomSampler`, as if constructed right after
  /// `torch::manual_seed(seed + epoch)`; the process-wide generator is left alone.
  /// Memory: `8 * n` bytes. Time: one shuffle.
  [[nodiscard]] static std::unique_ptr<IndexCursor> random(int64_t n, int64_t seed, int64_t epoch);

  /// `torch::data::samplers::SequentialSampler`. Constant memory and time.
  [[nodiscard]] static std::unique_ptr<IndexCursor> sequential(int64_t n);

  IndexCursor(const IndexCursor&) = delete;
  IndexCursor& operator=(const IndexCursor&) = delete;
  ~IndexCursor();

  /// Writes the next `count` indices, or what is left of them, to `into`.
  ///
  /// @return how many were written; 0 at the end
  int64_t read(int64_t* into, int64_t count);

  /// Memory of this cursor for `window_length()` indices, at least 1: `read` into it costs a caller
  /// from Java no copy on entry.
  [[nodiscard]] int64_t* window();
  [[nodiscard]] int64_t window_length() const;

  /// How many indices lie before the next one.
  [[nodiscard]] int64_t offset() const;

  [[nodiscard]] int64_t remaining() const;

  /// Goes to `offset`, in [0, `offset() + remaining()`], forward or backward in constant time.
  void seek(int64_t offset);

 private:
  class Impl;
  explicit IndexCursor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
