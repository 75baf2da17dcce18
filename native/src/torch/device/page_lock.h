// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace torchfeed {

/// Page-locks rows in host memory, and returns them as uint8 `[rows, row_bytes]` of a device, which
/// reads them over its bus. Rows that are locked already are locked once; they are unlocked when
/// the last tensor is gone. Thread-safe.
///
/// @param owner  keeps the memory alive until then
/// @throws Error  of code `kIllegalState` if the device cannot read the memory of the host
at::Tensor rows_for_device(const std::byte* data, int64_t rows, int64_t row_bytes,
                           const c10::Device& device, std::shared_ptr<const void> owner);

}  // namespace torchfeed
