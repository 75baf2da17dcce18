// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "core/min_max_code.h"
#include "group/gloo_threads.h"
#include "torchfeed/process_group.h"
#include "torchfeed/reducer.h"

namespace torchfeed::testing {

using Kind = ExchangeOptions::Kind;
using Tensors = std::vector<at::Tensor>;

inline ReducerOptions options_of(Kind kind, int64_t bucket_bytes = 1 << 20) {
  ReducerOptions options;
  options.exchange.kind = kind;
  options.first_bucket_bytes = bucket_bytes;
  options.bucket_bytes = bucket_bytes;
  return options;
}

/// A model whose gradients a test passes.
class Trainer {
 public:
  Trainer(ProcessGroup& group, c10d::Store& store, const ReducerOptions& options,
          const Tensors& like)
      : group_(group) {
    std::string names;
    for (const auto& each : like) {
      names.append("p").append(std::to_string(parameters_.size())).append("\n");
      parameters_.push_back(at::zeros_like(each).requires_grad_(true));
    }
    reducer_ = GradientReducer::create(group, names, parameters_, "", {}, options);
    if (reducer_->needs_exchange_group()) {
      connect_exchange(store, options.exchange.ranks_per_node);
    }
  }

  /// @param fails  whether the backward pass fails on its way to the first parameter
  [[nodiscard]] at::Tensor loss(const Tensors& gradients, bool fails = false) const {
    at::Tensor loss = at::zeros({});
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor copy = parameters_[i] * 1;
      if (fails && i == 0) {
        copy.register_hook(
            [](const at::Tensor&) -> at::Tensor { throw std::runtime_error("a user's error"); });
      }
      loss = loss + (copy * gradients[i]).sum();
    }
    return loss;
  }

  /// Returns the optimizer's input for these gradients of this rank.
  ///
  /// @param weight  of this rank; none if losses are not weighted
  Tensors step(const Tensors& gradients, std::optional<double> weight = {}) {
    for (const auto& parameter : parameters_) {
      parameter.mutable_grad().reset();
    }
    if (weight) {
      reducer_->backward(loss(gradients), *weight);
    } else {
      reducer_->backward(loss(gradients));
    }
    Tensors results;
    for (const auto& parameter : parameters_) {
      results.push_back(parameter.grad().clone());
    }
    return results;
  }

  at::Tensor step(const at::Tensor& gradient) { return step(Tensors{gradient})[0]; }

  [[nodiscard]] int64_t rank() const { return group_.rank(); }
  [[nodiscard]] int64_t ranks() const { return group_.world_size(); }
  [[nodiscard]] ProcessGroup& group() { return group_; }
  [[nodiscard]] GradientReducer& reducer() { return *reducer_; }
  void close() { reducer_.reset(); }

 private:
  void connect_exchange(c10d::Store& store, int64_t ranks_per_node) {
    const auto connect = [&](const std::string& name, int64_t rank, int64_t ranks) {
      return ranks == 1 ? ProcessGroup::adopt(0, 0, 1)
                        : ProcessGroup::connect(reinterpret_cast<int64_t>(&store), name, rank,
                                                ranks, 60'000, "127.0.0.1", "");
    };
    const auto side = connect("side", rank(), ranks());
    if (ranks_per_node == 1) {
      reducer_->exchange_over(*side);
      return;
    }
    const int64_t node = rank() / ranks_per_node;
    const bool leads = rank() % ranks_per_node == 0;
    const auto own =
        connect("node " + std::to_string(node), rank() % ranks_per_node, ranks_per_node);
    const auto leaders = leads ? connect("leaders", node, ranks() / ranks_per_node) : nullptr;
    reducer_->exchange_between_nodes(*side, *own, leaders.get());
  }

  ProcessGroup& group_;
  Tensors parameters_;
  std::unique_ptr<GradientReducer> reducer_;
};

inline void train(int ranks, const ReducerOptions& options, const Tensors& like,
                  const std::function<void(Trainer&)>& body) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  on_gloo(ranks, [&](ProcessGroup& group) {
    Trainer trainer(group, *store, options, like);
    body(trainer);
  });
}

/// Returns numbers of both signs that depend on the rank.
inline at::Tensor numbers(int64_t rank, int64_t count, int64_t step = 0) {
  return at::sin(at::arange(count, at::kFloat) * 0.7 + static_cast<double>(3 * rank + step));
}

inline at::Tensor mean_of(const std::function<at::Tensor(int64_t)>& of_rank, int64_t ranks) {
  at::Tensor sum = of_rank(0).clone();
  for (int64_t rank = 1; rank < ranks; ++rank) {
    sum += of_rank(rank);
  }
  return sum / ranks;
}

inline void expect_same_on_all_ranks(ProcessGroup& group, const at::Tensor& tensor) {
  const auto all = group.all_gather(tensor)->result(0);
  for (int64_t rank = 0; rank < group.world_size(); ++rank) {
    EXPECT_TRUE(at::equal(all[0], all[rank]));
  }
}

/// The result of Bagua's rule for the numbers of all ranks, one chunk after the other.
///
/// @param multiple a divisor of the padded number of values; 0 stands for the number of ranks
inline at::Tensor in_bytes(const Tensors& of_ranks, int64_t multiple = 0) {
  const auto ranks = static_cast<int64_t>(of_ranks.size());
  multiple = multiple > 0 ? multiple : ranks;
  const int64_t count = (of_ranks[0].numel() + multiple - 1) / multiple * multiple / ranks;
  const auto there_and_back = [&](const at::Tensor& chunk) {
    std::vector<uint8_t> code(static_cast<size_t>(min_max_code_bytes(count)));
    at::Tensor back = at::empty({count});
    encode_min_max(chunk.const_data_ptr<float>(), count, code.data());
    decode_min_max(code.data(), count, back.mutable_data_ptr<float>());
    return back;
  };
  Tensors chunks;
  for (int64_t chunk = 0; chunk < ranks; ++chunk) {
    at::Tensor sum = at::zeros({count});
    for (const auto& mine : of_ranks) {
      const at::Tensor padded = at::constant_pad_nd(mine, {0, ranks * count - mine.numel()});
      sum += there_and_back(padded.narrow(0, chunk * count, count).contiguous());
    }
    chunks.push_back(there_and_back(sum / ranks));
  }
  return at::cat(chunks).narrow(0, 0, of_ranks[0].numel());
}

}  // namespace torchfeed::testing
