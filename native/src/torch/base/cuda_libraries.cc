// SPDX-License-Identifier: Apache-2.0
#include "torch/base/cuda_libraries.h"

#include <ATen/Context.h>
#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "torch/base/guard.h"
#include "torchfeed/runtime.h"

namespace torchfeed {
namespace {

/// Returns the folder of libtorch's library for the CPU, beside which that for CUDA is.
std::filesystem::path libtorch_folder() {
  Dl_info info{};
  const auto* inside = reinterpret_cast<const void*>(&at::globalContext);
  if (dladdr(inside, &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  return std::filesystem::path(info.dli_fname).parent_path();
}

}  // namespace

std::string library_obstacle(const std::string& path) {
  // The handle stays open: libtorch's registrations when it is loaded must not be unloaded.
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr ||
      dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) {
    return "";
  }
  const char* const error = dlerror();
  return error == nullptr ? path + " cannot be loaded" : error;
}

std::string cuda_obstacle() {
  return guarded([]() -> std::string {
    const auto library = libtorch_folder() / "libtorch_cuda.so";
    if (!std::filesystem::exists(library)) {
      return "this libtorch has no cuda";
    }
    return library_obstacle(library.string());
  });
}

int64_t nccl_version() {
  void* const library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) {
    return 0;
  }
  using GetVersion = int (*)(int*);
  const auto get_version = reinterpret_cast<GetVersion>(dlsym(library, "ncclGetVersion"));
  int version = 0;
  const bool is_known = get_version != nullptr && get_version(&version) == 0;
  dlclose(library);
  return is_known ? version : 0;
}

}  // namespace torchfeed
