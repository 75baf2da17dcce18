// SPDX-License-Identifier: Apache-2.0
#include "device/fake_device.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Allocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "device/fake_machine.h"

namespace torchfeed::fake {
namespace {

constexpr c10::DeviceType kType = c10::DeviceType::PrivateUse1;
constexpr int8_t kDevices = 2;
constexpr c10::StreamId kStreams = 8;
constexpr size_t kQuarantine = 256;

thread_local int8_t current_device = 0;
thread_local std::array<c10::StreamId, kDevices> current_streams = {0, 0};
std::atomic<c10::StreamId> streams_given{0};
std::atomic<int64_t> copies_left{-1};
std::atomic<int64_t> live_device_blocks{0};
std::atomic<int64_t> live_host_blocks{0};
std::atomic<int64_t> all_device_blocks{0};

/// Poisons freed memory and keeps it for a while, so that a late reader sees the poison.
void poison_and_free(void* data, size_t bytes) {
  static std::mutex& mutex = *std::make_unique<std::mutex>().release();
  static auto& quarantine = *std::make_unique<std::deque<void*>>().release();
  std::memset(data, kPoison, bytes);
  const std::lock_guard<std::mutex> lock(mutex);
  quarantine.push_back(data);
  if (quarantine.size() > kQuarantine) {
    std::free(quarantine.front());
    quarantine.pop_front();
  }
}

struct DeviceBlock {
  void* data;
  size_t bytes;
  c10::Stream owner;
  std::vector<c10::Stream> users;
};

void free_device_block(void* context) {
  const std::unique_ptr<DeviceBlock> block(static_cast<DeviceBlock*>(context));
  for (const c10::Stream& user : block->users) {
    const auto event = std::make_shared<EventState>();
    machine().record(user, event);
    machine().enqueue_wait(block->owner, event);
  }
  machine().enqueue(block->owner, [data = block->data, bytes = block->bytes] {
    poison_and_free(data, bytes);
    live_device_blocks.fetch_sub(1);
  });
}

/// Behaves like a caching allocator: memory belongs to the stream that was current, and is freed
/// once that stream and all recorded streams have reached this point.
class DeviceAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Stream owner = fake::current_stream(current_device);
    auto block = std::make_unique<DeviceBlock>(
        DeviceBlock{std::aligned_alloc(64, (bytes / 64 + 1) * 64), bytes, owner, {}});
    live_device_blocks.fetch_add(1);
    all_device_blocks.fetch_add(1);
    void* data = block->data;
    return {data, block.release(), &free_device_block, c10::Device(kType, current_device)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_device_block; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
};

struct HostBlock {
  void* data;
  size_t bytes;
  std::vector<c10::Stream> users;
};

std::atomic<bool> are_copies_tracked{false};
std::mutex host_blocks_mutex;
std::map<const void*, HostBlock*> host_blocks_by_data;  // guarded by host_blocks_mutex

/// Notes that a stream reads or writes page-locked memory.
void note_user(const void* data, const c10::Stream& stream) {
  const std::lock_guard<std::mutex> lock(host_blocks_mutex);
  const auto after = host_blocks_by_data.upper_bound(data);
  if (are_copies_tracked && after != host_blocks_by_data.begin()) {
    HostBlock& block = *std::prev(after)->second;
    if (data < static_cast<char*>(block.data) + block.bytes) {
      block.users.push_back(stream);
    }
  }
}

void free_host_block(void* context) {
  const std::unique_ptr<HostBlock> block(static_cast<HostBlock*>(context));
  {
    const std::lock_guard<std::mutex> lock(host_blocks_mutex);
    host_blocks_by_data.erase(block->data);
  }
  const auto poison = [data = block->data, bytes = block->bytes] {
    poison_and_free(data, bytes);
    live_host_blocks.fetch_sub(1);
  };
  if (block->users.empty()) {
    poison();
    return;
  }
  for (const c10::Stream& user : block->users) {
    const auto event = std::make_shared<EventState>();
    machine().record(user, event);
    machine().enqueue_wait(block->users.front(), event);
  }
  machine().enqueue(block->users.front(), poison);
}

/// Unlike a real allocator, it tracks copies only if a test asks for it.
class PinnedAllocator final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    auto block = std::make_unique<HostBlock>(
        HostBlock{std::aligned_alloc(4096, (bytes / 4096 + 1) * 4096), bytes, {}});
    live_host_blocks.fetch_add(1);
    void* data = block->data;
    const std::lock_guard<std::mutex> lock(host_blocks_mutex);
    host_blocks_by_data[data] = block.get();
    return {data, block.release(), &free_host_block, c10::DeviceType::CPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_host_block; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
  bool record_event(void* /*data*/, void* /*context*/, c10::Stream /*stream*/) override {
    return false;
  }
  void empty_cache() override {}
  at::HostStats get_stats() override { return {}; }
  void reset_accumulated_stats() override {}
  void reset_peak_stats() override {}
};

using EventHandle = std::shared_ptr<EventState>;

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    setDevice(device);
    return before;
  }
  c10::Device getDevice() const override { return {kType, current_device}; }
  void setDevice(c10::Device device) const override { current_device = device.index(); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    current_device = device.index();
  }
  c10::Stream getStream(c10::Device device) const override {
    return fake::current_stream(device.index());
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool /*high*/) const override {
    return new_stream(device.index());
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream before = getStream(stream.device());
    current_streams[static_cast<size_t>(stream.device_index())] = stream.id();
    return before;
  }
  c10::DeviceIndex deviceCount() const noexcept override { return kDevices; }

  void record(void** event, const c10::Stream& stream, c10::DeviceIndex /*device*/,
              c10::EventFlag /*flag*/) const override {
    if (*event == nullptr) {
      *event = std::make_unique<EventHandle>(std::make_shared<EventState>()).release();
    }
    machine().record(stream, state(*event));
  }
  void block(void* event, const c10::Stream& stream) const override {
    machine().enqueue_wait(stream, state(event));
  }
  bool queryEvent(void* event) const override { return machine().is_done(*state(event)); }
  double elapsedTime(void* begin, void* end, c10::DeviceIndex /*device*/) const override {
    constexpr double kNanosPerMilli = 1e6;
    return static_cast<double>(state(end)->at - state(begin)->at) / kNanosPerMilli;
  }
  void destroyEvent(void* event, c10::DeviceIndex /*device*/) const noexcept override {
    const std::unique_ptr<EventHandle> owned(static_cast<EventHandle*>(event));
  }
  void synchronizeEvent(void* event) const override {
    machine().await([&] { return machine().is_done(*state(event)); });
  }
  bool queryStream(const c10::Stream& stream) const override {
    return machine().is_idle({stream.device_index(), stream.id()});
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    machine().await([&] { return queryStream(stream); });
  }
  void synchronizeDevice(c10::DeviceIndex device) const override {
    machine().await([&] { return machine().queued(device) == 0; });
  }
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
    auto* block = static_cast<DeviceBlock*>(data.get_context());
    if (block != nullptr && stream != block->owner) {
      block->users.push_back(stream);
    }
  }

 private:
  static const EventHandle& state(void* event) { return *static_cast<EventHandle*>(event); }
};

at::Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout> /*layout*/, std::optional<at::Device> device,
                 std::optional<bool> /*pin*/, std::optional<at::MemoryFormat> format) {
  static DeviceAllocator allocator;
  const c10::OptionalDeviceGuard guard(device);
  return at::Tensor(at::detail::empty_generic(sizes, &allocator,
                                              c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                              dtype.value_or(at::kFloat), format));
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef /*strides*/,
                         std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                         std::optional<at::Device> device, std::optional<bool> pin) {
  return empty(sizes, dtype, layout, device, pin, std::nullopt);
}

/// Views a tensor of any device from the host.
at::Tensor seen_from_host(const at::Tensor& tensor) {
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(),
                       tensor.options().device(at::kCPU));
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& to, bool non_blocking) {
  TORCH_CHECK(copies_left.load() < 0 || copies_left.fetch_sub(1) > 0, "the fake device failed");
  if (self.numel() == 0) {
    return to;
  }
  const c10::Device device = self.is_cpu() ? to.device() : self.device();
  const c10::Stream stream = fake::current_stream(device.index());
  if (!self.is_contiguous() || !to.is_contiguous() || self.dtype() != to.dtype()) {
    c10::impl::getDeviceGuardImpl(kType)->synchronizeStream(stream);
    seen_from_host(to).copy_(seen_from_host(self));
    return to;
  }
  note_user(self.is_cpu() ? self.const_data_ptr() : to.const_data_ptr(), stream);
  const bool arrives = self.is_cpu();
  // At a pace, the bytes of a copy to the device stay where they are: it takes no processor.
  machine().enqueue_copy(stream, arrives ? static_cast<int64_t>(self.nbytes()) : 0,
                         [source = self.const_data_ptr(), target = to.mutable_data_ptr(),
                          bytes = arrives && machine().keeps_pace() ? 0 : self.nbytes()] {
                           std::memcpy(target, source, bytes);
                         });
  if (!non_blocking) {
    c10::impl::getDeviceGuardImpl(kType)->synchronizeStream(stream);
  }
  return to;
}

/// Gathers rows of bytes, from memory of the host or the device, when the stream gets there.
at::Tensor& select_rows(const at::Tensor& rows, int64_t dim, const at::Tensor& index,
                        at::Tensor& to) {
  TORCH_CHECK(dim == 0 && rows.dim() == 2 && rows.scalar_type() == at::kByte &&
                  to.is_contiguous() && to.size(0) == index.numel(),
              "the fake device gathers only rows of bytes");
  TORCH_CHECK(copies_left.load() < 0 || copies_left.fetch_sub(1) > 0, "the fake device failed");
  const c10::Stream stream = fake::current_stream(to.get_device());
  if (machine().keeps_pace()) {  // the row numbers have not arrived
    machine().enqueue_copy(stream, static_cast<int64_t>(to.nbytes()), [] {});
    return to;
  }
  machine().enqueue(stream,
                    [source = static_cast<const char*>(rows.const_data_ptr()),
                     numbers = index.const_data_ptr<int64_t>(), count = index.numel(),
                     target = static_cast<char*>(to.mutable_data_ptr()), bytes = rows.size(1)] {
                      for (int64_t i = 0; i < count; ++i) {
                        std::memcpy(target + i * bytes, source + numbers[i] * bytes, bytes);
                      }
                    });
  return to;
}

at::Tensor copy_result(const at::Tensor& self, const at::Tensor& to) {
  TORCH_CHECK(self.sizes() == to.sizes(), "the fake device cannot resize a result");
  return copy_from(self, to, /*non_blocking=*/false);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, kernels) {
  kernels.impl("as_strided", &at::native::as_strided_tensorimpl);
  kernels.impl("empty.memory_format", &empty);
  kernels.impl("empty_strided", &empty_strided);
  kernels.impl("_copy_from", &copy_from);
  kernels.impl("index_select.out", &select_rows);
  kernels.impl("_copy_from_and_resize", &copy_result);
}

const c10::impl::DeviceGuardImplRegistrar kGuard(kType, new Guard());  // the registry never frees

const bool kPinning = [] {
  allow_pinning(true);
  return true;
}();

}  // namespace

bool step(const c10::Stream& stream) {
  return machine().step({stream.device_index(), stream.id()});
}

void run(const c10::Stream& stream) {
  while (step(stream)) {
  }
}

void run_all() { machine().run_all(); }

int64_t queued(int8_t device) { return machine().queued(device); }

std::vector<c10::Stream> busy_streams(const c10::Stream& except) {
  std::vector<c10::Stream> busy;
  for (const auto& [device, id] : machine().keys()) {
    const c10::Stream stream(c10::Stream::UNSAFE, {kType, device}, id);
    if (device == except.device_index() && stream != except) {
      busy.push_back(stream);
    }
  }
  return busy;
}

c10::Stream current_stream(int8_t device) {
  return c10::Stream(c10::Stream::UNSAFE, {kType, device},
                     current_streams[static_cast<size_t>(device)]);
}

c10::Stream new_stream(int8_t device) {
  return c10::Stream(c10::Stream::UNSAFE, {kType, device}, 1 + streams_given++ % kStreams);
}

std::shared_ptr<std::vector<uint8_t>> read_later(const at::Tensor& tensor) {
  auto bytes = std::make_shared<std::vector<uint8_t>>();
  machine().enqueue(current_stream(tensor.get_device()),
                    [bytes, data = static_cast<const uint8_t*>(tensor.const_data_ptr()),
                     size = tensor.nbytes()] { bytes->assign(data, data + size); });
  return bytes;
}

void fail_after(int64_t copies) { copies_left = copies; }

int64_t device_blocks() { return live_device_blocks; }

int64_t host_blocks() { return live_host_blocks; }

int64_t device_allocations() { return all_device_blocks; }

void track_copies(bool tracked) { are_copies_tracked = tracked; }

void allow_pinning(bool allowed) {
  static PinnedAllocator allocator;
  at::setHostAllocator(kType, allowed ? &allocator : nullptr);
}

}  // namespace torchfeed::fake
