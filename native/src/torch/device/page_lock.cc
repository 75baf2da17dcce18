// SPDX-License-Identifier: Apache-2.0
#include "torch/device/page_lock.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/DeviceGuard.h>
#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "torchfeed/error.h"

namespace torchfeed {
namespace {

/// The functions of CUDA's runtime that libtorch is linked with; the build does not need its
/// headers.
class CudaRuntime {
 public:
  CudaRuntime() {
    void* const linked = dlopen("libc10_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    if (linked != nullptr) {
      find(linked, "cudaHostRegister", host_register);
      find(linked, "cudaHostUnregister", host_unregister);
      find(linked, "cudaHostGetDevicePointer", device_pointer);
      find(linked, "cudaGetErrorString", error_string);
      find(linked, "cudaGetLastError", last_error);
    }
  }

  [[nodiscard]] bool is_there() const {
    return host_register != nullptr && host_unregister != nullptr && device_pointer != nullptr &&
           error_string != nullptr && last_error != nullptr;
  }

  int (*host_register)(void*, std::size_t, unsigned) = nullptr;
  int (*host_unregister)(void*) = nullptr;
  int (*device_pointer)(void**, void*, unsigned) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*last_error)() = nullptr;

 private:
  template <class Function>
  static void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
  }
};

const CudaRuntime& cuda_runtime() {
  static const CudaRuntime runtime;
  return runtime;
}

[[noreturn]] void refuse(const c10::Device& device, const std::string& reason) {
  throw Error(ErrorCode::kIllegalState,
              "device " + device.str() + " cannot read rows in host memory: " + reason);
}

/// Memory that is page-locked for all devices.
class PageLock {
 public:
  PageLock(std::byte* data, std::size_t bytes, const c10::Device& device,
           std::shared_ptr<const void> owner)
      : data_(data), owner_(std::move(owner)) {
    constexpr unsigned kPortableAndMapped = 3;
    if (const int error = cuda_runtime().host_register(data, bytes, kPortableAndMapped)) {
      cuda_runtime().last_error();  // which libtorch would take for one of its own calls
      refuse(device, std::to_string(bytes) + " bytes cannot be page-locked (" +
                         cuda_runtime().error_string(error) +
                         "); load without gatherOnDevice, or free memory");
    }
  }
  PageLock(const PageLock&) = delete;
  PageLock& operator=(const PageLock&) = delete;
  ~PageLock() {
    if (cuda_runtime().host_unregister(data_) != 0) {  // the process is ending
      cuda_runtime().last_error();
    }
  }

 private:
  std::byte* const data_;
  const std::shared_ptr<const void> owner_;
};

/// The live locks by their address, since memory can be locked only once.
std::shared_ptr<const void> locked(std::byte* data, std::size_t bytes, const c10::Device& device,
                                   std::shared_ptr<const void> owner) {
  static std::mutex mutex;
  static auto& locks =
      *std::make_unique<std::map<std::pair<std::byte*, std::size_t>, std::weak_ptr<const void>>>()
           .release();
  const std::lock_guard<std::mutex> lock(mutex);
  std::erase_if(locks, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const void>& known = locks[{data, bytes}];
  std::shared_ptr<const void> result = known.lock();
  if (result == nullptr) {
    result = std::make_shared<PageLock>(data, bytes, device, std::move(owner));
    known = result;
  }
  return result;
}

}  // namespace

at::Tensor rows_for_device(const std::byte* data, int64_t rows, int64_t row_bytes,
                           const c10::Device& device, std::shared_ptr<const void> owner) {
  void* address = const_cast<std::byte*>(data);
  std::shared_ptr<const void> keeper = std::move(owner);
  if (device.is_cuda()) {
    if (!cuda_runtime().is_there()) {
      refuse(device, "the runtime of CUDA lacks cudaHostRegister");
    }
    const c10::DeviceGuard guard(device);
    static_cast<void>(
        at::empty({0}, at::TensorOptions(at::kByte).device(device)));  // initializes it
    keeper = locked(static_cast<std::byte*>(address), static_cast<std::size_t>(rows * row_bytes),
                    device, std::move(keeper));
    if (const int error = cuda_runtime().device_pointer(&address, address, 0)) {
      cuda_runtime().last_error();
      refuse(device, cuda_runtime().error_string(error));
    }
  } else if (device.type() != c10::DeviceType::PrivateUse1) {
    refuse(device, "only CUDA devices do");
  }
  return at::from_blob(
      address, {rows, row_bytes}, [keeper](void*) {}, at::TensorOptions(at::kByte).device(device),
      device);
}

}  // namespace torchfeed
