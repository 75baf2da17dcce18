// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "torch/base/guard.h"

namespace torchfeed::detail {

inline bool contains_any(std::string_view text, const auto& needles) {
  return std::any_of(needles.begin(), needles.end(), [&](std::string_view needle) {
    return text.find(needle) != std::string_view::npos;
  });
}

/// Classifies a failure by its message, from Gloo, NCCL, the autograd engine or the store.
///
/// Both throw plain runtime errors, so only the wording distinguishes them.
inline ErrorCode classify_collective_error(std::string text) {
  static constexpr std::array<std::string_view, 7> kTimeouts = {"timed out",
                                                                "timeout waiting",
                                                                "wait timeout",
                                                                "timeout after",
                                                                "has timed out",
                                                                "application timeout",
                                                                "collective operation timeout"};
  static constexpr std::array<std::string_view, 12> kLost = {
      "connection reset",      "connection closed",
      "closed by peer",        "broken pipe",
      "socket closed",         "connection refused",
      "connection was closed", "failed to recv",
      "failed to send",        "transport endpoint is not connected",
      "ncclremoteerror",       "communicator was aborted"};
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (contains_any(text, kTimeouts)) {
    return ErrorCode::kTimeout;
  }
  return contains_any(text, kLost) ? ErrorCode::kPeerLost : ErrorCode::kInternal;
}

/// Returns `text` without a leading `[/source/file.cc:123] ` and without a trailing backtrace.
inline std::string without_source_location(std::string text) {
  if (const auto trace = text.find("\nException raised from "); trace != std::string::npos) {
    text.resize(trace);
  }
  if (!text.empty() && text.front() == '[') {
    const auto close = text.find("] ");
    if (close != std::string::npos && text.rfind(':', close) != std::string::npos) {
      text.erase(0, close + 2);
    }
  }
  return text;
}

/// Like `guarded`, but network failures leave as `PEER_LOST` or `TIMEOUT`.
template <class Body>
decltype(auto) guarded_collective(Body&& body) {
  try {
    return guarded(std::forward<Body>(body));
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kInternal) {
      throw;
    }
    const std::string text = e.message();
    throw Error(classify_collective_error(text), without_source_location(text));
  }
}

}  // namespace torchfeed::detail
