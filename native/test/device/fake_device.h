// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "torchfeed/export.h"

/// Two fake devices, `privateuseone:0` and `:1`, that exist only in this process. Their streams are
/// queues of work that a test executes at any time and in any order, to show that work not ordered
/// by events can happen in the wrong order. Memory is poisoned when it is freed: host memory
/// immediately, device memory once the streams known to the allocator have reached the release.
namespace torchfeed::fake {

/// The value that freed memory is filled with.
constexpr uint8_t kPoison = 0xDD;

/// Executes the next item of a stream; returns false if it has none, or waits for an event.
TORCHFEED_API bool step(const c10::Stream& stream);
/// Executes the work of a stream until it is empty or waits for an event.
TORCHFEED_API void run(const c10::Stream& stream);
/// Executes all work of all streams and devices.
TORCHFEED_API void run_all();
/// Returns the number of items queued in all streams of a device.
TORCHFEED_API int64_t queued(int8_t device);
/// Returns the streams that have work, on the device of `except`, other than `except` itself.
TORCHFEED_API std::vector<c10::Stream> busy_streams(const c10::Stream& except);

/// Returns the current stream of the calling thread.
TORCHFEED_API c10::Stream current_stream(int8_t device);
/// Returns the next stream of a small pool, round-robin.
TORCHFEED_API c10::Stream new_stream(int8_t device);
/// Queues a read of a device tensor on the current stream; the result receives its bytes.
TORCHFEED_API std::shared_ptr<std::vector<uint8_t>> read_later(const at::Tensor& tensor);

/// Makes one copy fail, after `copies` successful ones, in the call that starts it; negative for
/// none.
TORCHFEED_API void fail_after(int64_t copies);
/// Return the blocks of device memory and of page-locked host memory that are not freed.
TORCHFEED_API int64_t device_blocks();
TORCHFEED_API int64_t host_blocks();
/// Returns the number of blocks of device memory ever allocated.
TORCHFEED_API int64_t device_allocations();
/// Lets the allocator of page-locked memory track copies as libtorch's do: memory is poisoned once
/// the copies that were queued before it was freed are done. Otherwise, immediately.
TORCHFEED_API void track_copies(bool tracked);
/// Unregisters the allocator of page-locked memory, or registers it again.
TORCHFEED_API void allow_pinning(bool allowed);

/// Makes copies to the devices take the time that a rate, and 2.5 us for each, give, without using
/// a processor, for the rest of the process: their bytes do not arrive. All other work takes none.
TORCHFEED_API void keep_pace(double bytes_per_second);

/// Makes the devices libtorch's accelerator for the rest of the process, which its autograd engine
/// needs.
TORCHFEED_API void be_accelerator();

/// Starts a thread that executes all work, each time from a randomly chosen stream, for the rest of
/// the process.
TORCHFEED_API void run_by_thread(uint32_t seed);

}  // namespace torchfeed::fake
