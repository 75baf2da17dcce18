// SPDX-License-Identifier: Apache-2.0
#include "torch/reduce/python_replica.h"

#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "torch/group/collective_errors.h"

namespace torchfeed::detail {

void check_python_options(const ReducerOptions& options) {
  if (options.buffer_mode != ReducerOptions::kOff &&
      options.buffer_mode != ReducerOptions::kBeforeForward) {
    throw Error(
        ErrorCode::kInvalidArgument,
        std::string("bufferMode must be BEFORE_FORWARD or OFF in a group with Python "
                    "ranks, which copy buffers before a forward pass or never, got ") +
            (options.buffer_mode == ReducerOptions::kOnRequest ? "ON_REQUEST" : "AFTER_BACKWARD"));
  }
  if (options.exchange.kind != ExchangeOptions::kAllReduce) {
    throw Error(ErrorCode::kInvalidArgument,
                "with Python ranks, gradients are averaged by all-reduce only");
  }
  if (options.weighted_losses) {
    throw Error(ErrorCode::kInvalidArgument,
                "with Python ranks, losses have no weights, which Python does not send");
  }
}

void compare_with_python(const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                         const std::vector<NamedTensor>& trained) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(trained.size());
  for (const auto& parameter : trained) {
    tensors.push_back(parameter.tensor);
  }
  try {
    c10d::verify_params_across_processes(group, tensors, std::nullopt);
  } catch (const c10::Error& e) {
    const std::string reason = without_source_location(e.what_without_backtrace());
    // Of libtorch's messages, those about the model name the ranks; all others are about Gloo.
    if (reason.find("DDP expects same model") == std::string::npos &&
        reason.find("appears not to match") == std::string::npos) {
      throw;
    }
    throw Error(ErrorCode::kInvalidArgument, reason);
  }
}

}  // namespace torchfeed::detail
