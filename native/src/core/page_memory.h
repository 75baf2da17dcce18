// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace torchfeed {

struct FreePages {
  std::size_t bytes = 0;

  void operator()(std::byte* pages) const;
};

/// Memory straight from the system, which gets it back as soon as it is freed.
using PageMemory = std::unique_ptr<std::byte, FreePages>;

/// Zeros at a multiple of 2 MiB, in huge pages where the system has them: a large copy spends a
/// tenth of its time on finding small ones. Throws `Error` (out of memory).
PageMemory allocate_pages(std::size_t bytes);

}  // namespace torchfeed
