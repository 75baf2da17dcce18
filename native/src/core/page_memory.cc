// SPDX-License-Identifier: Apache-2.0
#include "core/page_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "torchfeed/error.h"

namespace torchfeed {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t up_to_huge_page(std::size_t bytes) {
  return (bytes + kHugePage - 1) / kHugePage * kHugePage;
}

[[noreturn]] void throw_out_of_memory(std::size_t bytes, int error) {
  throw Error(ErrorCode::kOutOfMemory,
              "cannot allocate " + std::to_string(bytes) + " bytes: " + std::strerror(error));
}

}  // namespace

void FreePages::operator()(std::byte* pages) const { munmap(pages, bytes); }

PageMemory allocate_pages(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) {
    throw_out_of_memory(bytes, ENOMEM);
  }
  const std::size_t whole = up_to_huge_page(bytes);
  const std::size_t reserved = whole + kHugePage;
  void* const address =
      mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) {
    throw_out_of_memory(bytes, errno);
  }
  auto* const begin = static_cast<std::byte*>(address);
  const std::size_t before = up_to_huge_page(reinterpret_cast<std::uintptr_t>(begin)) -
                             reinterpret_cast<std::uintptr_t>(begin);
  std::byte* const aligned = begin + before;
  if (before > 0) {
    munmap(begin, before);
  }
  munmap(aligned + whole, reserved - before - whole);
#ifdef MADV_HUGEPAGE
  madvise(aligned, whole, MADV_HUGEPAGE);  // a system without huge pages uses small ones
#endif
  return PageMemory(aligned, FreePages{whole});
}

}  // namespace torchfeed
