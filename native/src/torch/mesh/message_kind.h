// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace torchfeed::detail {

/// The content of a message that no user sends. Its number is its tag in Gloo, above all tags of
/// `point_to_point.cc`, so messages of two kinds are never taken for each other.
enum class MessageKind : int {
  kCall = (1 << 30) + (1 << 29),
  kRows,
  kParts,
  kDeparture,
  kNothing,
};

}  // namespace torchfeed::detail
