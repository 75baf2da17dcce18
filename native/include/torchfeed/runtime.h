// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>

#include "torchfeed/export.h"

namespace torchfeed {

/// Returns the version of the libtorch whose headers the facade was compiled with.
TORCHFEED_API std::string compiled_libtorch_version();

/// Returns the version that the libtorch loaded in this process reports.
TORCHFEED_API std::string loaded_libtorch_version();

/// Returns the version of the C++ compiler that built the facade.
TORCHFEED_API std::string compiler_version();

/// Returns the level of vector instructions that the facade uses on this processor (`scalar`,
/// `avx2`, `avx512`, or `neon` on ARM), and the problem of `TORCHFEED_SIMD`, if it has one.
TORCHFEED_API std::string vector_instructions();

/// Returns the number of accelerator devices that libtorch can use in this process.
TORCHFEED_API int64_t accelerator_count();

/// Returns the name of libtorch's accelerator type, for example `cuda`; `none` if it has none.
TORCHFEED_API std::string accelerator_name();

/// Returns the reason why libtorch's library for CUDA is not loaded in this process, for example
/// the name of a library that it needs; empty if it is loaded, with or without a device.
TORCHFEED_API std::string cuda_obstacle();

/// Returns the version of the NCCL loaded in this process, as `ncclGetVersion` numbers it: 22807 is
/// 2.28.7; 0 if none is loaded.
TORCHFEED_API int64_t nccl_version();

/// Returns the name of a device other than the CPU, with its index. Throws an `Error` that names
/// the missing part if the device cannot be used.
TORCHFEED_API std::string device_name(const std::string& name);

/// Returns the reason why host memory cannot be page-locked for the accelerator; empty if it can.
TORCHFEED_API std::string pinning_obstacle();

/// Returns the bytes of page-locked host memory that slabs of this process and their views hold.
TORCHFEED_API int64_t pinned_bytes();

/// Returns the number of live facade objects (cursors, feeds, groups, reducers, slabs, transfers),
/// for leak tests.
TORCHFEED_API int64_t live_objects();

}  // namespace torchfeed
