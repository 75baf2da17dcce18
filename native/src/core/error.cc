// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/error.h"

#include <cstring>

namespace torchfeed {
namespace {

const char* name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case ErrorCode::kIllegalState:
      return "ILLEGAL_STATE";
    case ErrorCode::kOutOfMemory:
      return "OUT_OF_MEMORY";
    case ErrorCode::kPeerLost:
      return "PEER_LOST";
    case ErrorCode::kTimeout:
      return "TIMEOUT";
    case ErrorCode::kUnreadable:
      return "UNREADABLE";
    case ErrorCode::kInternal:
      break;
  }
  return "INTERNAL";
}

}  // namespace

Error::Error(ErrorCode code, const std::string& message)
    : std::runtime_error(std::string(name_of(code)) + '|' + message), code_(code) {}

Error::~Error() = default;

const char* Error::message() const noexcept { return std::strchr(what(), '|') + 1; }

}  // namespace torchfeed
