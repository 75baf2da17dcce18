// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "torchfeed/process_group.h"
#include "torchfeed/reducer.h"

namespace torchfeed::testing {

/// Options with small buckets, so that a model has several.
inline ReducerOptions small_buckets() {
  ReducerOptions options;
  options.first_bucket_bytes = 64;
  options.bucket_bytes = 64;
  return options;
}

/// Two layers, initialized without a random generator, so that threads do not affect each other.
struct Model {
  explicit Model(int64_t hidden = 6, double scale = 1)
      : first((at::arange(4 * hidden, at::kFloat).reshape({hidden, 4}) * 0.01 * scale)
                  .requires_grad_(true)),
        second((at::arange(hidden, at::kFloat) * 0.1 * scale).requires_grad_(true)),
        mean(at::full({3}, scale, at::kFloat)) {}

  [[nodiscard]] at::Tensor loss(const at::Tensor& rows) const {
    return at::matmul(at::tanh(at::matmul(rows, first.t())), second).pow(2).mean();
  }

  [[nodiscard]] std::unique_ptr<GradientReducer> reduce(
      const ProcessGroup& group, const ReducerOptions& options = small_buckets()) const {
    return GradientReducer::create(group, "first\nsecond\n", {first, second}, "mean\n", {mean},
                                   options);
  }

  void clear() const {
    first.mutable_grad().reset();
    second.mutable_grad().reset();
  }

  at::Tensor first;
  at::Tensor second;
  at::Tensor mean;
};

inline at::Tensor rows(int64_t from, int64_t count) {
  return at::sin(at::arange(200, at::kFloat).reshape({50, 4})).narrow(0, from, count);
}

/// Three tasks: on rank 0 the loss depends on the first, on the others on the second.
struct Tasks {
  [[nodiscard]] std::unique_ptr<GradientReducer> reduce(const ProcessGroup& group,
                                                        const ReducerOptions& options) const {
    return GradientReducer::create(group, "t0\nt1\nt2\n", {tasks[0], tasks[1], tasks[2]}, "", {},
                                   options);
  }

  [[nodiscard]] double gradient(size_t task) const { return tasks[task].grad().item<double>(); }

  std::vector<at::Tensor> tasks = {at::ones({1}).requires_grad_(true),
                                   at::ones({1}).requires_grad_(true),
                                   at::ones({1}).requires_grad_(true)};
};

}  // namespace torchfeed::testing
