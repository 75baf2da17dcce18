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

/// Averages the gradients of one model over the ranks, in buckets, while backward still runs.
///
/// After every backward, whoever started it, each gradient is the mean over the ranks and the
/// buffers are those of rank 0; the reducer arms itself again. A backward that failed half-way
/// leaves it unusable: all later ones fail with the first reason.
class TORCHFEED_API GradientReducer {
 public:
  /// Compares the parameters and buffers of all ranks, then copies those of rank 0 to all.
  ///
  /// @param parameter_names  one name a line, in the order of `parameters`
  /// @param buffer_names  one name a line, in the order of `buffers`
  /// @param first_bucket_bytes  size of the bucket that is reduced first
  [[nodiscard]] static std::unique_ptr<GradientReducer> create(
      const ProcessGroup& group, const std::string& parameter_names,
      const std::vector<torch::Tensor>& parameters, const std::string& buffer_names,
      const std::vector<torch::Tensor>& buffers, int64_t first_bucket_bytes, int64_t bucket_bytes);
  GradientReducer(const GradientReducer&) = delete;
  ~GradientReducer();

  /// Runs the backward of a scalar and returns when all gradients are averaged.
  void backward(const torch::Tensor& loss);

  /// Nanoseconds from the last gradient's arrival to the end of the reduction, summed.
  [[nodiscard]] int64_t reduction_nanos() const;
  /// How many backwards ended with all gradients averaged.
  [[nodiscard]] int64_t reductions() const;
  /// Why the reducer is unusable; empty while it is usable.
  [[nodiscard]] std::string failure() const;

  [[nodiscard]] int64_t parameter_count() const;
  [[nodiscard]] std::string parameter_name(int64_t index) const;
  /// The memory of a parameter as `uint8 [bytes]`, row by row.
  [[nodiscard]] torch::Tensor parameter_bytes(int64_t index) const;

 private:
  class Impl;
  explicit GradientReducer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
