// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <string>

#include "torchfeed/export.h"

namespace torchfeed {

/// Version of the libtorch whose headers the facade was compiled with.
TORCHFEED_API std::string compiled_libtorch_version();

/// Version of the libtorch that is loaded in this process, as it says itself.
TORCHFEED_API std::string loaded_libtorch_version();

/// Version of the C++ compiler that built the facade.
TORCHFEED_API std::string compiler_version();

/// Number of accelerator devices that libtorch can use in this process; 0 when it has none.
TORCHFEED_API int64_t accelerator_count();

/// Name of libtorch's accelerator type, for example `cuda`; `none` without one.
TORCHFEED_API std::string accelerator_name();

/// Why host memory cannot be page-locked for the accelerator; empty when it can.
TORCHFEED_API std::string pinning_obstacle();

/// Bytes of page-locked host memory that slabs of this process hold, views of them included.
TORCHFEED_API int64_t pinned_bytes();

/// Number of facade objects (cursors, feeds, groups, reducers, slabs, transfers) that are alive,
/// for leak tests.
TORCHFEED_API int64_t live_objects();

}  // namespace torchfeed
