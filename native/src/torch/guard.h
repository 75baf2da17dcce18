// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/Exception.h>

#include <new>
#include <stdexcept>
#include <utility>

#include "torchfeed/error.h"

namespace torchfeed {

/// Runs `body`; whatever it throws leaves as `Error`, libtorch's errors without their backtrace.
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
    throw Error(ErrorCode::kInternal, e.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kOutOfMemory, "the native heap is exhausted");
  } catch (const std::length_error& e) {
    throw Error(ErrorCode::kOutOfMemory, e.what());
  } catch (const std::exception& e) {
    throw Error(ErrorCode::kInternal, e.what());
  }
}

}  // namespace torchfeed
