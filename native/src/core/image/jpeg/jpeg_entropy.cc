// SPDX-License-Identifier: Apache-2.0
#include "core/image/jpeg/jpeg_entropy.h"

#include <dlfcn.h>
#include <jerror.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>

namespace torchfeed {
namespace {

/// The year in the copyright of version 3.1, the last one whose layout was read.
constexpr int kLastYear = 2025;

std::atomic<const char*>& pretended() {
  static std::atomic<const char*> copyright{nullptr};
  return copyright;
}

std::atomic<bool>& is_reported() {
  static std::atomic<bool> is_reported{false};
  return is_reported;
}

std::string copyright_of(const jpeg_decompress_struct& info) {
  const char* const text = pretended().load();
  if (text != nullptr) {
    return text;
  }
  return JMSG_COPYRIGHT <= info.err->last_jpeg_message
             ? info.err->jpeg_message_table[JMSG_COPYRIGHT]
             : "";
}

/// Returns whether a library with this copyright, "Copyright (C) 1991-2023 The libjpeg-turbo
/// Project and many others", has the layout.
bool is_known(std::string_view copyright) {
  const std::size_t dash = copyright.find('-');
  return copyright.find("The libjpeg-turbo Project") != std::string_view::npos &&
         dash != std::string_view::npos &&
         std::atoi(std::string(copyright.substr(dash + 1)).c_str()) <= kLastYear;
}

/// Returns the address of the library that contains a function, or null.
template <typename Function>
const void* library_of(Function* function) {
  Dl_info found{};
  const bool is_found =
      function != nullptr && dladdr(reinterpret_cast<const void*>(function), &found) != 0;
  return is_found ? found.dli_fbase : nullptr;
}

/// Returns why the layout may be another one, or nothing.
std::string problem_of(const jpeg_decompress_struct& info) {
#ifndef TORCHFEED_KNOWN_JPEG
  return "it was built with the headers of another version than libjpeg-turbo 2.0 to 3.1";
#else
  const std::string copyright = copyright_of(info);
  if (!is_known(copyright)) {
    return "the loaded library must be libjpeg-turbo 2.0 to 3.1, but says \"" + copyright + '"';
  }
  const auto* const entropy = reinterpret_cast<const EntropyDecoder*>(info.entropy);
  const void* const library = library_of(info.mem->alloc_small);
  if (library == nullptr || entropy == nullptr || library_of(entropy->start_pass) != library ||
      library_of(entropy->decode_mcu) != library) {
    return "the decoder of the loaded library has another layout";
  }
  return "";
#endif
}

}  // namespace

EntropyDecoder* known_entropy(const jpeg_decompress_struct& info) {
  // The look-up of a library takes longer than a small image, and images share the functions.
  thread_local EntropyDecoder known{};
  auto* const entropy = reinterpret_cast<EntropyDecoder*>(info.entropy);
  const bool is_same = entropy != nullptr && known.decode_mcu != nullptr &&
                       entropy->start_pass == known.start_pass &&
                       entropy->decode_mcu == known.decode_mcu;
  if (is_same && pretended().load(std::memory_order_relaxed) == nullptr) {
    return entropy;
  }
  const std::string problem = problem_of(info);
  if (!problem.empty()) {
    if (!is_reported().exchange(true)) {
      std::fprintf(stderr,
                   "torchfeed: JPEGs are decoded by libjpeg alone, with the same pixels but more "
                   "slowly: %s; use the presets of the version that torchfeed was built with\n",
                   problem.c_str());
    }
    return nullptr;
  }
  known = *entropy;
  return entropy;
}

void pretend_jpeg_copyright(const char* copyright) {
  pretended() = copyright;
  is_reported() = false;
}

}  // namespace torchfeed
