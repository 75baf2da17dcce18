// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <condition_variable>
#include <thread>
#include <vector>
#define USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

namespace torchfeed::detail {

/// libtorch's Gloo, whose operations are performed by threads of this class, as many as libtorch
/// would start. Its own ones move the name of each operation that they have ended into one string,
/// without a lock; of a name of more than 15 characters, as sparse all-reduces have, two of
/// them free the memory twice. These write no names. All that is missing for that are the ends of
/// operations in the dumps of libtorch's flight recorder, which its library does not export.
class GlooWorkers : public c10d::ProcessGroupGloo {
 public:
  GlooWorkers(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size,
              c10::intrusive_ptr<Options> options);
  GlooWorkers(const GlooWorkers&) = delete;
  GlooWorkers& operator=(const GlooWorkers&) = delete;
  /// Waits for operations, as libtorch's destructor does.
  ~GlooWorkers() override;

  [[nodiscard]] bool await_operations(std::chrono::milliseconds limit);

 private:
  void work(size_t number);
  void stop();

  std::vector<std::thread> workers_;
  std::condition_variable ended_;  // an operation
};

/// Waits until `GlooWorkers` performs no operation and has none queued; returns whether that is so
/// in time. Messages do not count. Another backend is not waited for.
[[nodiscard]] bool await_operations(c10d::Backend& backend, std::chrono::milliseconds limit);

/// Ends all operations of `GlooWorkers` with an error, and its connections; does nothing to another
/// backend.
///
/// To shut the connections down is not enough: an operation that fails takes its buffers with it,
/// and bytes that are then on their way to one of them keep Gloo from reading their connection to
/// its end, in a loop that takes a processor. Others on it would wait for their timeout.
void end_operations(c10d::Backend& backend);

}  // namespace torchfeed::detail
