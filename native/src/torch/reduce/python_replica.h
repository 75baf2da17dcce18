// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

#include "torch/reduce/replica_layout.h"
#include "torchfeed/reducer.h"

namespace torchfeed::detail {

/// Refuses options that Python's `DistributedDataParallel` on other ranks could not follow.
void check_python_options(const ReducerOptions& options);

/// Compares the trained parameters with rank 0's by the calls of Python's
/// `DistributedDataParallel`: all ranks throw if their numbers differ, and ranks whose shapes or
/// strides differ from rank 0's.
void compare_with_python(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                         const std::vector<NamedTensor>& trained);

}  // namespace torchfeed::detail
