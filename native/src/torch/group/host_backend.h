// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

namespace torchfeed::detail {

/// Returns a backend for tensors of a device that sends copies of them in host memory through
/// `backend`. It has the operations of `c10d::Reducer`, all-reduce and broadcast, and the
/// all-gather by which Python's ranks compare their models.
c10::intrusive_ptr<c10d::Backend> host_backend(c10::intrusive_ptr<c10d::Backend> backend);

}  // namespace torchfeed::detail
