// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "torchfeed/export.h"

/// Two devices `privateuseone:0` and `:1` that exist in this process only. Their streams are queues
/// of work that the test executes when and in which order it likes, so that whatever is not ordered
/// by events can be shown to happen in the wrong order. Memory is poisoned when it is freed: host
/// memory at once, device memory when the streams that the allocator knows of have come by.
namespace torchfeed::fake {

/// What freed memory is filled with.
constexpr uint8_t kPoison = 0xDD;

/// Executes the next work of a stream; false if it has none, or waits for an event.
TORCHFEED_API bool step(const c10::Stream& stream);
/// Executes the work of a stream until it is done or waits for an event.
TORCHFEED_API void run(const c10::Stream& stream);
/// Executes all work of all streams and devices.
TORCHFEED_API void run_all();
/// How much work is queued in all streams of a device.
TORCHFEED_API int64_t queued(int8_t device);
/// The streams of a device that have work, without `except`.
TORCHFEED_API std::vector<c10::Stream> busy_streams(const c10::Stream& except);

/// The current stream of the calling thread.
TORCHFEED_API c10::Stream current_stream(int8_t device);
/// A stream that nobody else was given lately.
TORCHFEED_API c10::Stream new_stream(int8_t device);
/// Queues the reading of a device tensor in the current stream: its bytes come into the result.
TORCHFEED_API std::shared_ptr<std::vector<uint8_t>> read_later(const at::Tensor& tensor);

/// Lets the copy after `copies` more of them fail, in the call that starts it.
TORCHFEED_API void fail_after(int64_t copies);
/// Blocks of device memory and of page-locked host memory that are not freed.
TORCHFEED_API int64_t device_blocks();
TORCHFEED_API int64_t host_blocks();
/// Blocks of device memory that were ever allocated.
TORCHFEED_API int64_t device_allocations();
/// Takes the allocator of page-locked memory away, or gives it back.
TORCHFEED_API void allow_pinning(bool allowed);

/// From now on a thread executes all work, of a stream chosen at random each time. For the rest of
/// the process.
TORCHFEED_API void run_by_thread(uint32_t seed);

}  // namespace torchfeed::fake
