// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torchfeed/export.h"

namespace torchfeed {

/// A model that Python's AOTInductor has compiled for the CPU: the shared library of a `.pt2`
/// package, whose code runs in this process. Thread-safe; calls of `run` take turns.
class TORCHFEED_API CompiledModel {
 public:
  /// Loads a library, whose file may be deleted afterwards. Throws `kUnreadable` if it is no such
  /// library, lacks its weights, or needs functions that this libtorch lacks. A file that is cut
  /// off ends the process.
  [[nodiscard]] static std::unique_ptr<CompiledModel> load(const std::string& library);
  CompiledModel(const CompiledModel&) = delete;
  CompiledModel& operator=(const CompiledModel&) = delete;
  ~CompiledModel();

  /// Returns the outputs. Throws `kInvalidArgument` if the model does not take the inputs, and
  /// `kInternal` if its code fails.
  [[nodiscard]] std::vector<torch::Tensor> run(const std::vector<torch::Tensor>& inputs);
  /// Returns the number of inputs.
  [[nodiscard]] int64_t inputs() const;

 private:
  class Impl;
  explicit CompiledModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
