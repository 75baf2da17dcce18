// SPDX-License-Identifier: Apache-2.0
#include "torch/group/process_group_impl.h"

#include <c10/core/StreamGuard.h>
#include <c10/util/env.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>
#include <thread>
#include <utility>

#include "torch/base/device.h"
#include "torch/group/collective_errors.h"
#include "torch/group/collectives.h"
#include "torch/group/host_backend.h"
#include "torch/group/watched_backend.h"
#include "torch/group/work_state.h"
#include "torch/mesh/gloo_workers.h"

namespace torchfeed {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kIdleLimit(1000);
constexpr milliseconds kCloseGrace(50);
constexpr milliseconds kCloseLimit(400);
constexpr milliseconds kDeviceCloseLimit(2000);
constexpr size_t kMaxIdleLanes = 64;

/// Ends the backend of a device. Its destructor must not do that: it throws, which ends the
/// process.
void end_device(const GroupBackends& backends) {
  try {
    enter_device(*backends.device);
    backends.device_backend->shutdown();
    return;
  } catch (const std::exception& e) {
    TORCH_WARN("closing the backend of a device: ", e.what());
  }
  try {
    backends.device_backend->abort();
  } catch (const std::exception& e) {
    TORCH_WARN("aborting the backend of a device: ", e.what());
  }
}

/// Turns libtorch's flight recorder off unless it is asked for: it notes the groups of a process
/// without a lock, so that two which begin their first operations together may end the process.
/// From 2.11 on, libtorch has it on otherwise.
void leave_out_flight_recorder() {
  if (!c10::utils::has_env("TORCH_NCCL_TRACE_BUFFER_SIZE")) {  // its older name
    c10::utils::set_env("TORCH_FR_BUFFER_SIZE", "0", false);
  }
}

}  // namespace

ProcessGroup::Impl::Impl(detail::GlooMesh mesh, int64_t rank, int64_t world_size,
                         bool has_python_ranks)
    : group_(c10::make_intrusive<c10d::ProcessGroup>(static_cast<int>(rank),
                                                     static_cast<int>(world_size))),
      backends_{.host = std::move(mesh.backend), .device_backend = nullptr, .device = {}},
      sockets_(std::move(mesh.sockets)),
      rank_(rank),
      world_size_(world_size),
      has_python_ranks_(has_python_ranks),
      in_flight_(sockets_, rank, world_size, {.timeout = mesh.timeout}),
      collectives_(std::make_shared<SerialLane>(kIdleLimit)) {
  leave_out_flight_recorder();
  group_->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  if (backends_.host) {
    group_->setBackend(at::kCPU, c10d::ProcessGroup::BackendType::GLOO,
                       detail::watched_backend(backends_.host, in_flight_, !has_python_ranks));
  }
  // Of two ranks, the other one is lost.
  if (!sockets_.is_empty() && world_size > 2 && !has_python_ranks) {
    in_flight_.exchange_departures(*backends_.host);
  }
}

void ProcessGroup::Impl::check_device(c10::Device device) {
  const std::lock_guard lock(mutex_);
  require_free(device);
}

void ProcessGroup::Impl::require_free(c10::Device device) const {
  if (backends_.device) {
    throw Error(ErrorCode::kIllegalState, "the group has a backend for " + backends_.device->str());
  }
  if (has_backend(device.type())) {
    throw Error(ErrorCode::kIllegalState,
                "a model of the group sends its gradients through host memory; name the device "
                "before the first model on it is wrapped");
  }
}

void ProcessGroup::Impl::use_device(c10::intrusive_ptr<c10d::Backend> backend, c10::Device device) {
  const std::lock_guard lock(mutex_);
  require_free(device);
  in_flight_.use_device(backend, device);
  auto host = backends_.host ? detail::host_backend(group_->getBackend(at::kCPU)) : nullptr;
  group_->setBackend(device.type(), c10d::ProcessGroup::BackendType::NCCL,
                     detail::watched_device_backend(backend, std::move(host), in_flight_));
  backends_.device_backend = std::move(backend);
  backends_.device = device;
}

c10::intrusive_ptr<c10d::ProcessGroup> ProcessGroup::Impl::group(c10::Device device) {
  const std::lock_guard lock(mutex_);
  if (backends_.device && device.type() == backends_.device->type() &&
      device != *backends_.device) {
    detail::refuse("the group was joined with " + backends_.device->str() + ", got tensors on " +
                   device.str());
  }
  if (!has_backend(device.type())) {
    if (!backends_.host) {
      return nullptr;
    }
    group_->setBackend(device.type(), c10d::ProcessGroup::BackendType::CUSTOM,
                       detail::host_backend(group_->getBackend(at::kCPU)));
  }
  return group_;
}

bool ProcessGroup::Impl::has_backend(c10::DeviceType type) const {
  const auto devices = group_->getDeviceTypes();
  return std::any_of(devices.begin(), devices.end(),
                     [&](const c10::Device& each) { return each.type() == type; });
}

ProcessGroup::Impl::~Impl() {
  if (!backends_.host && !backends_.device) {
    return;
  }
  in_flight_.leave();
  if (backends_.host && in_flight_.has_failed()) {
    detail::end_operations(*backends_.host);
  }
  const bool has_device = backends_.device.has_value();
  if (has_device && in_flight_.has_failed()) {
    in_flight_.abort();  // NCCL would wait for operations that cannot end
  }
  // Gloo's destructor waits for operations in flight, such as a failed backward pass's; if a peer
  // has stopped, until the timeout.
  try {
    // Ranks leave NCCL together, which takes longer.
    const auto most = has_device ? kDeviceCloseLimit : kCloseLimit;
    const auto grace = has_device ? most : kCloseGrace;
    auto ended = std::make_shared<std::promise<void>>();
    auto done = ended->get_future();
    std::thread([group = std::move(group_), backends = std::move(backends_),
                 ends_device = has_device && !in_flight_.is_device_aborted(), grace,
                 ended]() mutable {
      if (ends_device) {
        end_device(backends);
      }
      group.reset();
      if (backends.host && !detail::await_operations(*backends.host, grace)) {
        detail::end_operations(*backends.host);
      }
      // Here, not in the thread that closes the group: a weak reference there would delay it.
      backends = {};
      ended->set_value();
    }).detach();
    if (done.wait_for(grace) == std::future_status::timeout) {
      const auto limit = in_flight_.is_aborted() ? kCloseGrace : most;
      sockets_.shut_down();
      if (has_device) {
        in_flight_.abort();
      }
      done.wait_for(limit);
    }
  } catch (const std::exception& e) {
    TORCH_WARN("closing a process group: ", e.what());
  }
}

void ProcessGroup::Impl::abort() {
  in_flight_.abort();
  if (backends_.host) {
    detail::end_operations(*backends_.host);
  }
  std::vector<std::weak_ptr<Impl>> others;
  {
    const std::lock_guard lock(mutex_);
    others = aborted_together_;
  }
  for (const auto& each : others) {
    if (const auto other = each.lock()) {
      other->abort();
    }
  }
}

void ProcessGroup::Impl::abort_with(const std::shared_ptr<Impl>& other) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(aborted_together_, [](const auto& each) { return each.expired(); });
    aborted_together_.push_back(other);
  }
  if (in_flight_.is_aborted()) {
    other->abort();
  }
}

bool ProcessGroup::Impl::is_busy() {
  const std::lock_guard lock(mutex_);
  return collectives_->is_busy() || !in_flight_.is_idle() ||
         std::any_of(messages_.begin(), messages_.end(),
                     [](const auto& lane) { return lane.second->is_busy(); });
}

std::shared_ptr<SerialLane> ProcessGroup::Impl::lane_of(const LaneKey& key) {
  const std::lock_guard lock(mutex_);
  if (messages_.size() >= kMaxIdleLanes) {
    // No other caller holds an idle lane, except before its first call.
    std::erase_if(messages_, [](const auto& lane) {
      return lane.second.use_count() == 1 && !lane.second->is_busy();
    });
  }
  auto& lane = messages_[key];
  if (!lane) {
    lane = std::make_shared<SerialLane>(milliseconds(0));
  }
  return lane;
}

std::unique_ptr<Work> ProcessGroup::Impl::start(SerialLane& lane, int32_t mode, Body body) {
  if ((mode & kAsynchronous) == 0) {
    std::vector<at::Tensor> results;
    lane.run([&] { results = perform(mode, body); });
    if (results.empty()) {
      return nullptr;
    }
    auto state = std::make_shared<Work::State>();
    state->succeed(std::move(results));
    state->announce();
    return std::unique_ptr<Work>(new Work(std::move(state)));
  }
  auto state = std::make_shared<Work::State>();
  // The waiting thread may then close everything, and expect the group to be idle, or gone.
  lane.post(
      [self = shared_from_this(), state, mode, body = std::move(body),
       stream = current_stream(backends_.device)] {
        try {
          const c10::OptionalStreamGuard on_stream(stream);
          state->succeed(self->perform(mode, body));
        } catch (...) {
          state->fail(std::current_exception());
        }
      },
      [state] { state->announce(); });
  return std::unique_ptr<Work>(new Work(std::move(state)));
}

std::vector<at::Tensor> ProcessGroup::Impl::perform(int32_t mode, const Body& body) {
  if (in_flight_.is_aborted()) {
    InFlight::throw_aborted();
  }
  try {
    const bool is_checked = (mode & kChecked) != 0;
    const RankCall call(backends_, in_flight_, rank_, world_size_,
                        has_python_ranks_ ? Protocol::kPython
                        : is_checked      ? Protocol::kChecked
                                          : Protocol::kUnchecked);
    return detail::guarded_collective([&] { return body(call); });
  } catch (const Error& e) {
    if (in_flight_.is_aborted() && e.code() != ErrorCode::kInvalidArgument) {
      InFlight::throw_aborted();
    }
    throw;
  }
}

void ProcessGroup::Impl::barrier() {
  (void)collective(kChecked, [](const RankCall& call) { collectives::barrier(call, {}); });
}

std::vector<std::string> ProcessGroup::Impl::gather_texts(const std::string& text) {
  std::vector<std::string> texts;
  (void)collective(/*mode=*/0, [&](const RankCall& call) {
    at::Tensor bytes = at::empty({static_cast<int64_t>(text.size())}, at::kByte);
    std::memcpy(bytes.mutable_data_ptr<uint8_t>(), text.data(), text.size());
    for (const at::Tensor& each : collectives::all_gather_bytes(call, bytes)) {
      const auto* first = each.const_data_ptr<uint8_t>();
      texts.emplace_back(first, first + each.numel());
    }
  });
  return texts;
}

}  // namespace torchfeed
