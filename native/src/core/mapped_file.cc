// SPDX-License-Identifier: Apache-2.0
#include "core/mapped_file.h"

#include <setjmp.h>  // NOLINT: csetjmp has no sigsetjmp
#include <signal.h>  // NOLINT: csignal has no sigaction
#include <sys/mman.h>
#include <ucontext.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace torchfeed {
namespace {

// Of a process: Linux allows 65,530 mappings, and the JVM needs some.
constexpr int kMostFiles = 4096;

/// A copy that can fail.
struct Attempt {
  const std::byte* begin;
  const std::byte* end;
  sigjmp_buf failed;
};

// In the memory that each thread has from its start: a handler must not allocate it.
[[gnu::tls_model("initial-exec")]] thread_local Attempt* volatile attempt = nullptr;

struct sigaction former {};

std::atomic<int> files{0};

/// Passes a fault to the handler before ours; the default one gets it when it happens again.
void pass_on(int signal, siginfo_t* info, void* context) {
  if ((former.sa_flags & SA_SIGINFO) != 0) {
    former.sa_sigaction(signal, info, context);
  } else if (former.sa_handler == SIG_DFL || former.sa_handler == SIG_IGN) {
    ::sigaction(signal, &former, nullptr);
  } else {
    former.sa_handler(signal);
  }
}

void on_fault(int signal, siginfo_t* info, void* context) {
  Attempt* const own = attempt;
  const auto* const at = static_cast<const std::byte*>(info->si_addr);
  if (own == nullptr || at < own->begin || at >= own->end) {
    return pass_on(signal, info, context);
  }
  ::pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t*>(context)->uc_sigmask, nullptr);
  siglongjmp(own->failed, 1);
}

bool set_handler() {
  const char* const mapped = std::getenv("TORCHFEED_MAPPED_FILES");
  if (mapped != nullptr && std::strcmp(mapped, "0") == 0) {
    return false;
  }
  if (::sigaction(SIGBUS, nullptr, &former) != 0) {
    return false;
  }
  struct sigaction ours = former;
  ours.sa_sigaction = on_fault;
  ours.sa_flags |= SA_SIGINFO;
  ours.sa_flags &= ~static_cast<int>(SA_RESETHAND);
  return ::sigaction(SIGBUS, &ours, nullptr) == 0;
}

}  // namespace

MappedFile::MappedFile(int descriptor, int64_t bytes, Faults faults) {
  static const bool is_handled = set_handler();
  if (!is_handled || bytes <= 0) {
    return;
  }
  if (files.fetch_add(1) < kMostFiles) {
    const auto length = static_cast<std::size_t>(bytes);
    void* const begin = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor, 0);
    if (begin != MAP_FAILED) {
      ::madvise(begin, length, faults == Faults::kAlone ? MADV_RANDOM : MADV_NORMAL);
      begin_ = static_cast<std::byte*>(begin);
      bytes_ = length;
      return;
    }
  }
  files.fetch_sub(1);
}

MappedFile::~MappedFile() {
  if (begin_ != nullptr) {
    ::munmap(begin_, bytes_);
    files.fetch_sub(1);
  }
}

bool MappedFile::copy(std::byte* target, int64_t from, std::size_t bytes) const {
  const std::byte* const source = begin_ + from;
  Attempt own;  // NOLINT: sigsetjmp fills the buffer
  own.begin = source;
  own.end = source + bytes;
  if (sigsetjmp(own.failed, 0) != 0) {
    attempt = nullptr;
    return false;
  }
  attempt = &own;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::memcpy(target, source, bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  attempt = nullptr;
  return true;
}

}  // namespace torchfeed
