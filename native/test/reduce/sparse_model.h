// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "group/gloo_threads.h"
#include "torchfeed/reducer.h"

namespace torchfeed::testing {

/// Tables with sparse gradients, each of which is a bucket, and a dense parameter.
struct SparseModel {
  explicit SparseModel(int64_t tables) {
    for (int64_t i = 0; i < tables; ++i) {
      parameters.push_back(at::ones({12, 2}).requires_grad_(true));
      sparse_names += "table " + std::to_string(i) + '\n';
    }
    parameters.push_back(at::ones({2}).requires_grad_(true));
    buffer = at::zeros({3});
  }

  [[nodiscard]] std::unique_ptr<GradientReducer> reduce(const ProcessGroup& group) const {
    ReducerOptions options;
    options.sparse_names = sparse_names;
    return GradientReducer::create(group, sparse_names + "dense\n", parameters, "buffer\n",
                                   {buffer}, options);
  }

  [[nodiscard]] at::Tensor loss(int64_t rank) const {
    const at::Tensor rows = at::full({2}, rank, at::kLong);
    at::Tensor sum = parameters.back();
    for (size_t i = 0; i + 1 < parameters.size(); ++i) {
      sum = sum + at::embedding(parameters[i], rows, -1, /*scale_grad_by_freq=*/false,
                                /*sparse=*/true);
    }
    return sum.sum();
  }

  std::string sparse_names;
  std::vector<at::Tensor> parameters;
  at::Tensor buffer;
};

/// Wraps a model, trains it, and closes it.
inline void train_sparse(const ProcessGroup& group, int64_t tables, int steps) {
  const SparseModel model(tables);
  const auto reducer = model.reduce(group);
  for (int step = 0; step < steps; ++step) {
    for (const auto& parameter : model.parameters) {
      parameter.mutable_grad().reset();
    }
    reducer->before_forward();
    reducer->backward(model.loss(group.rank()));
    for (int64_t table = 0; table < tables; ++table) {
      const auto gradient = model.parameters[static_cast<size_t>(table)].grad().to_dense();
      EXPECT_NEAR(4.0, gradient.sum().item<double>(), 1e-5);  // 2 rows of 2 ones, on average
    }
  }
}

}  // namespace torchfeed::testing
