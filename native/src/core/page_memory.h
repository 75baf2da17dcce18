// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace torchfeed {

struct FreePages {
  std::size_t bytes = 0;

  void operator()(std::byte* pages) const;
};

/// Memory taken straight from the operating system and returned to it as soon as it is freed.
using PageMemory = std::unique_ptr<std::byte, FreePages>;

/// Allocates zeroed memory aligned to 2 MiB, in huge pages where the system supports them: a large
/// copy spends a tenth of its time on address translation of small pages. Throws `Error` (out of
/// memory).
PageMemory allocate_pages(std::size_t bytes);

}  // namespace torchfeed
