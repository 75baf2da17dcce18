// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "torch/flight/in_flight.h"

namespace torchfeed::detail {

/// Returns a backend whose operations are `backend`'s, watched by `in_flight`, which outlives the
/// calls. It has the operations of `c10d::Reducer`, all-reduce and broadcast, and the all-gather by
/// which Python's ranks compare their models.
///
/// @param passes_down  whether dense tensors are broadcast by `pass_down`, in the calling thread;
///     the same on all ranks
c10::intrusive_ptr<c10d::Backend> watched_backend(c10::intrusive_ptr<c10d::Backend> backend,
                                                  InFlight& in_flight, bool passes_down = false);

/// Returns the same of a backend whose operations a device runs.
///
/// @param host  reduces sparse gradients, which NCCL does not take: a `host_backend` over a watched
///     one
c10::intrusive_ptr<c10d::Backend> watched_device_backend(c10::intrusive_ptr<c10d::Backend> backend,
                                                         c10::intrusive_ptr<c10d::Backend> host,
                                                         InFlight& in_flight);

}  // namespace torchfeed::detail
