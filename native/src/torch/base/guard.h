// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/Exception.h>

#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "torchfeed/error.h"

namespace torchfeed {

/// Runs `body` and turns every exception into an `Error`, libtorch's without their backtrace.
template <class Body>
decltype(auto) guarded(Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const Error&) {
    throw;
  } catch (const c10::OutOfMemoryError& e) {
    throw Error(ErrorCode::kOutOfMemory, e.what_without_backtrace());
  } catch (const c10::ValueError& e) {
    throw Error(ErrorCode::kInvalidArgument, e.what_without_backtrace());
  } catch (const c10::IndexError& e) {
    throw Error(ErrorCode::kInvalidArgument, e.what_without_backtrace());
  } catch (const c10::Error& e) {
    // libtorch's CPU allocator does not use an error type of its own.
    const std::string message = e.what_without_backtrace();
    const bool is_memory = message.find("DefaultCPUAllocator: ") != std::string::npos;
    throw Error(is_memory ? ErrorCode::kOutOfMemory : ErrorCode::kInternal, message);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kOutOfMemory, "the native heap is exhausted");
  } catch (const std::length_error& e) {
    throw Error(ErrorCode::kOutOfMemory, e.what());
  } catch (const std::exception& e) {
    throw Error(ErrorCode::kInternal, e.what());
  }
}

}  // namespace torchfeed
