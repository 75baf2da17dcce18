// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/process_group.h"

#include <c10/util/env.h>

#include <chrono>
#include <future>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

#include "torch/base/device.h"
#include "torch/group/collective_errors.h"
#include "torch/group/process_group_impl.h"

namespace torchfeed {
namespace {

/// The time in which the end of a store is awaited.
constexpr std::chrono::seconds kStoreLimit(2);

void check_ranks(int64_t rank, int64_t world_size) {
  if (world_size < 1 || rank < 0 || rank >= world_size) {
    detail::refuse("rank must be in [0, world size), got rank " + std::to_string(rank) + " of " +
                   std::to_string(world_size));
  }
}

void set_default(const char* variable, const char* value) {
  c10::utils::set_env(variable, value, /*overwrite=*/false);
}

}  // namespace

ProcessGroup::ProcessGroup(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

ProcessGroup::~ProcessGroup() {
  try {
    abort_if_busy();
  } catch (const std::exception& e) {
    TORCH_WARN("closing a process group: ", e.what());
  }
}

std::unique_ptr<ProcessGroup> ProcessGroup::adopt(int64_t backend_address, int64_t rank,
                                                  int64_t world_size) {
  return guarded([&] {
    check_ranks(rank, world_size);
    if ((backend_address == 0) != (world_size == 1)) {
      detail::refuse("a group of one rank must have no backend, and any other group must have one");
    }
    detail::GlooMesh mesh;
    if (world_size > 1) {
      auto* raw = reinterpret_cast<c10d::Backend*>(static_cast<uintptr_t>(backend_address));
      mesh.backend = c10::intrusive_ptr<c10d::Backend>::reclaim_copy(raw);
    }
    auto impl = std::make_shared<Impl>(std::move(mesh), rank, world_size);
    return std::unique_ptr<ProcessGroup>(new ProcessGroup(std::move(impl)));
  });
}

std::unique_ptr<ProcessGroup> ProcessGroup::connect(int64_t store_address,
                                                    const std::string& prefix, int64_t rank,
                                                    int64_t world_size, int64_t milliseconds,
                                                    const std::string& host,
                                                    const std::string& network_interface,
                                                    bool has_python_ranks) {
  return detail::guarded_collective([&] {
    check_ranks(rank, world_size);
    auto* raw = reinterpret_cast<c10d::Store*>(static_cast<uintptr_t>(store_address));
    auto mesh = detail::connect_gloo(
        c10::make_intrusive<c10d::PrefixStore>(prefix,
                                               c10::intrusive_ptr<c10d::Store>::reclaim_copy(raw)),
        static_cast<int>(rank), static_cast<int>(world_size),
        {std::chrono::milliseconds(milliseconds), host, network_interface, has_python_ranks});
    auto impl = std::make_shared<Impl>(std::move(mesh), rank, world_size, has_python_ranks);
    return std::unique_ptr<ProcessGroup>(new ProcessGroup(std::move(impl)));
  });
}

void ProcessGroup::prepare_nccl() {
  guarded([] {
    // Clean up after a failure, but do not end the process; watch nothing that would end it.
    c10::utils::set_env("TORCH_NCCL_ASYNC_ERROR_HANDLING", "2");
    c10::utils::set_env("TORCH_NCCL_ENABLE_MONITORING", "0");
    c10::utils::set_env("TORCH_NCCL_RETHROW_CUDA_ERRORS", "0");
    // Waiting inside of NCCL would replace that handling of failures.
    c10::utils::set_env("TORCH_NCCL_BLOCKING_WAIT", "0");
    // A group that closes would wait for notes of a timeout.
    set_default("TORCH_NCCL_DUMP_ON_TIMEOUT", "0");
    set_default("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "0");
    // Connect the ranks when they join, within its time limit, and not in their first operations.
    set_default("NCCL_RUNTIME_CONNECT", "0");
  });
}

void ProcessGroup::check_device(const std::string& device) {
  guarded([&] { impl_->check_device(usable_device(device)); });
}

void ProcessGroup::use_device(int64_t backend_address, const std::string& device) {
  guarded([&] {
    auto* raw = reinterpret_cast<c10d::Backend*>(static_cast<uintptr_t>(backend_address));
    impl_->use_device(c10::intrusive_ptr<c10d::Backend>::reclaim_copy(raw), usable_device(device));
  });
}

int64_t ProcessGroup::nested_store(int64_t store_address, const std::string& prefix) {
  return guarded([&] {
    auto* raw = reinterpret_cast<c10d::Store*>(static_cast<uintptr_t>(store_address));
    auto inner = c10::make_intrusive<c10d::PrefixStore>(
        prefix, c10::intrusive_ptr<c10d::Store>::reclaim_copy(raw));
    c10::intrusive_ptr<c10d::Store> outer =
        c10::make_intrusive<c10d::PrefixStore>("", std::move(inner));
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(outer.release()));
  });
}

void ProcessGroup::own_store(int64_t store_address) {
  auto* raw = reinterpret_cast<c10d::Store*>(static_cast<uintptr_t>(store_address));
  (void)c10::intrusive_ptr<c10d::Store>::unsafe_steal_from_new(raw).release();
}

void ProcessGroup::release_store(int64_t store_address) {
  auto* raw = reinterpret_cast<c10d::Store*>(static_cast<uintptr_t>(store_address));
  auto store = c10::intrusive_ptr<c10d::Store>::reclaim(raw);
  if (store.use_count() > 1) {
    return;
  }
  // The destructor waits for the thread that serves the store, without a limit.
  guarded([&] {
    std::promise<void> ended;
    const auto done = ended.get_future();
    std::thread([ended = std::move(ended), store = std::move(store)]() mutable {
      store.reset();
      ended.set_value();
    }).detach();
    done.wait_for(kStoreLimit);
  });
}

int64_t ProcessGroup::rank() const { return impl_->rank(); }

int64_t ProcessGroup::world_size() const { return impl_->world_size(); }

int64_t ProcessGroup::lost_rank() const { return impl_->lost_rank(); }

int64_t ProcessGroup::lost_with(int64_t rank) const { return impl_->lost_with(rank); }

bool ProcessGroup::is_lost(int64_t rank) const { return impl_->is_lost(rank); }

void ProcessGroup::abort() {
  guarded([&] { impl_->abort(); });
}

void ProcessGroup::abort_with(const ProcessGroup& other) {
  guarded([&] { impl_->abort_with(other.impl_); });
}

void ProcessGroup::abort_if_busy() {
  guarded([&] {
    if (impl_->is_busy()) {
      impl_->abort();
    }
  });
}

}  // namespace torchfeed
