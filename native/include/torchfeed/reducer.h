// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torchfeed/export.h"
#include "torchfeed/process_group.h"

namespace torchfeed {

/// Averages the gradients of one model over the ranks, in buckets, while the backward pass is still
/// running.
///
/// After every backward pass, however it was started, each gradient is the mean over the ranks and
/// the buffers are those of rank 0; the reducer then prepares for the next pass. A backward pass
/// that fails halfway leaves the reducer unusable: all later ones fail with the first reason.
class TORCHFEED_API GradientReducer {
 public:
  /// Compares the layouts of the parameters and buffers of all ranks, then copies the values of
  /// rank 0 to the others.
  ///
  /// @param parameter_names  one name per line, in the order of `parameters`
  /// @param buffer_names  one name per line, in the order of `buffers`
  /// @param first_bucket_bytes  size of the bucket that is reduced first
  [[nodiscard]] static std::unique_ptr<GradientReducer> create(
      const ProcessGroup& group, const std::string& parameter_names,
      const std::vector<torch::Tensor>& parameters, const std::string& buffer_names,
      const std::vector<torch::Tensor>& buffers, int64_t first_bucket_bytes, int64_t bucket_bytes);
  GradientReducer(const GradientReducer&) = delete;
  ~GradientReducer();

  /// Runs the backward pass of a scalar and returns when all gradients are averaged.
  void backward(const torch::Tensor& loss);

  /// Returns the nanoseconds from the last gradient's arrival to the end of the reduction, summed
  /// over all backward passes.
  [[nodiscard]] int64_t reduction_nanos() const;
  /// Returns the number of backward passes that ended with all gradients averaged.
  [[nodiscard]] int64_t reductions() const;
  /// Returns the reason why the reducer is unusable; empty while it is usable.
  [[nodiscard]] std::string failure() const;

  [[nodiscard]] int64_t parameter_count() const;
  [[nodiscard]] std::string parameter_name(int64_t index) const;
  /// Returns the bytes of a parameter in row-major order, as `uint8 [bytes]`.
  [[nodiscard]] torch::Tensor parameter_bytes(int64_t index) const;

 private:
  class Impl;
  explicit GradientReducer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
