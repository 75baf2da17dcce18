// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <optional>
#include <random>
#include <sstream>
#include <utility>

#include "torch/reduce/gradient_exchange.h"
#include "torchfeed/error.h"

namespace torchfeed::detail {
namespace {

using Tensors = std::vector<at::Tensor>;

/// The gradient as a matrix, a row for each element of its first dimension.
at::Tensor matrix_of(const at::Tensor& gradient) {
  return gradient.view({gradient.dim() == 0 ? 1 : gradient.size(0), -1});
}

/// Makes the columns of each of the matrices `[batch, rows, columns]` orthonormal; unlike in
/// Python, a column of zeros remains one.
void orthogonalize(at::Tensor& matrices, double epsilon) {
  const int64_t columns = matrices.size(2);
  if (columns > 2) {
    matrices = std::get<0>(at::linalg_qr(matrices));
    return;
  }
  for (int64_t i = 0; i < columns; ++i) {
    const at::Tensor column = matrices.narrow(2, i, 1);
    const at::Tensor norm =
        at::linalg_vector_norm(column, 2, at::IntArrayRef{1}, /*keepdim=*/true) + epsilon;
    column.div_(norm.masked_fill(norm == 0, 1));
    const at::Tensor rest = matrices.narrow(2, i + 1, columns - i - 1);
    rest.sub_((column * rest).sum({1}, /*keepdim=*/true) * column);
  }
}

/// Sends products P Q^T of narrow matrices in place of gradients.
///
/// Source: PyTorch, `powerSGD_hook`, with its values.
class PowerSgd : public GradientExchange {
 public:
  explicit PowerSgd(const ExchangeOptions& options)
      : options_(options), random_(static_cast<uint32_t>(options.seed)) {}

  void run(ExchangeRanks& ranks, const GradientBucket& bucket) override {
    if (steps_ < options_.warmup_steps) {
      average(ranks, bucket.flat);
    } else {
      run_compressed(ranks, bucket);
    }
    steps_ += bucket.is_last ? 1 : 0;
  }

  [[nodiscard]] int64_t steps() const override { return steps_; }

  [[nodiscard]] std::string random() const override {
    std::ostringstream out;
    out << random_;
    return out.str();
  }

  [[nodiscard]] std::vector<NamedTensor> kept(
      const std::vector<NamedTensor>& parameters) const override {
    std::vector<NamedTensor> kept;
    for (const auto& [name, parameter] : parameters) {
      const auto found = states_.find(parameter.unsafeGetTensorImpl());
      if (found == states_.end()) {
        continue;
      }
      const State& state = found->second;
      if (state.error.defined()) {
        kept.push_back({"error." + name, state.error});
      }
      if (options_.warm_start && state.q.defined()) {
        kept.push_back({"q." + name, state.q});
      }
    }
    return kept;
  }

  [[nodiscard]] std::vector<at::Tensor> shared(
      const std::vector<NamedTensor>& parameters) const override {
    Tensors shared;
    for (const auto& [name, tensor] : kept(parameters)) {
      if (name.starts_with("q.")) {
        shared.push_back(tensor);
      }
    }
    return shared;
  }

  void scale_errors(double factor) override {
    for (auto& [parameter, state] : states_) {
      if (state.error.defined()) {
        state.error.mul_(factor);
      }
    }
  }

  void begin_after(int64_t steps, const std::string& random,
                   const std::vector<NamedTensor>& parameters) override {
    std::mt19937 engine;
    std::istringstream in(random);
    in >> engine;
    if (!in) {
      throw Error(ErrorCode::kInvalidArgument, "the random numbers of the state are malformed");
    }
    random_ = engine;
    steps_ = steps;
    states_.clear();
    if (steps <= options_.warmup_steps) {
      return;
    }
    for (const auto& [name, parameter] : parameters) {
      State& state = states_[parameter.unsafeGetTensorImpl()];
      state.is_started = true;
      if (options_.error_feedback) {
        state.error = at::zeros({parameter.numel()}, parameter.scalar_type());
      }
      if (options_.warm_start && is_worth_compressing(parameter)) {
        const at::Tensor matrix = matrix_of(parameter);
        state.q = at::zeros({matrix.size(1), rank_of(matrix.size(0), matrix.size(1))},
                            parameter.scalar_type());
      }
    }
  }

 private:
  struct State {
    bool is_started = false;  // whether it was in a bucket that was compressed
    at::Tensor error;         // flat
    at::Tensor q;             // if the gradient is worth compressing
  };

  /// Gradients of one shape that are compressed together.
  struct Batch {
    std::vector<size_t> members;
    at::Tensor matrices;  // [members, rows, columns]
    at::Tensor p;         // [members, rows, rank]
    at::Tensor q;         // [members, columns, rank]
  };

  State& state_of(const GradientBucket& bucket, size_t member) {
    return states_[bucket.parameters[member].unsafeGetTensorImpl()];
  }

  /// A result that is not finite, which all ranks have, leaves the bucket's states as they were: an
  /// optimizer skips its step, and numbers that are not finite would remain in them.
  void run_compressed(ExchangeRanks& ranks, const GradientBucket& bucket) {
    std::vector<State> before;
    for (size_t i = 0; i < bucket.parameters.size(); ++i) {
      before.push_back(state_of(bucket, i));
    }
    if (options_.error_feedback) {
      run_with_feedback(ranks, bucket);
    } else {
      compress(ranks, bucket);
    }
    if (!bucket.flat.isfinite().all().item<bool>()) {
      for (size_t i = 0; i < before.size(); ++i) {
        state_of(bucket, i) = before[i];
      }
    }
  }

  void run_with_feedback(ExchangeRanks& ranks, const GradientBucket& bucket) {
    for (size_t i = 0; i < bucket.gradients.size(); ++i) {
      const State& state = state_of(bucket, i);
      if (state.error.defined()) {
        bucket.gradients[i].view({-1}).add_(state.error);
      }
    }
    const at::Tensor wanted = bucket.flat.clone();
    compress(ranks, bucket);
    const at::Tensor errors = wanted.sub_(bucket.flat);
    int64_t start = 0;
    for (size_t i = 0; i < bucket.gradients.size(); ++i) {
      state_of(bucket, i).error = errors.narrow(0, start, bucket.gradients[i].numel());
      start += bucket.gradients[i].numel();
    }
  }

  void compress(ExchangeRanks& ranks, const GradientBucket& bucket) {
    auto [batches, others] = divide(bucket);
    draw_or_reuse(batches, bucket);
    if (!others.empty()) {
      ranks.sum(others);
      for (const auto& other : others) {
        other.div_(ranks.size());
      }
    }
    if (batches.empty()) {
      return;
    }
    Tensors sums;
    for (auto& batch : batches) {
      batch.p = at::bmm(batch.matrices, batch.q);
      sums.push_back(batch.p);
    }
    ranks.sum(sums);
    sums.clear();
    for (auto& batch : batches) {
      orthogonalize(batch.p, options_.orthogonalization_epsilon);
      batch.q = at::bmm(batch.matrices.transpose(1, 2), batch.p);
      sums.push_back(batch.q);
    }
    ranks.sum(sums);
    for (auto& batch : batches) {
      batch.q.div_(ranks.size());
      decompress(batch, bucket);
    }
  }

  /// Returns the gradients that are worth compressing, ordered by shape as Python orders them, and
  /// the others.
  std::pair<std::vector<Batch>, Tensors> divide(const GradientBucket& bucket) const {
    std::vector<std::vector<size_t>> shapes;
    Tensors others;
    for (size_t i = 0; i < bucket.gradients.size(); ++i) {
      const at::Tensor& gradient = bucket.gradients[i];
      if (!is_worth_compressing(gradient)) {
        others.push_back(gradient);
        continue;
      }
      const auto same = std::find_if(shapes.begin(), shapes.end(), [&](const auto& members) {
        return matrix_of(bucket.gradients[members[0]]).sizes() == matrix_of(gradient).sizes();
      });
      if (same == shapes.end()) {
        shapes.push_back({i});
      } else {
        same->push_back(i);
      }
    }
    std::vector<Batch> batches;
    for (auto& members : shapes) {
      if (options_.batch_same_shapes) {
        batches.push_back({std::move(members), {}, {}, {}});
        continue;
      }
      for (const size_t member : members) {
        batches.push_back({{member}, {}, {}, {}});
      }
    }
    for (auto& batch : batches) {
      Tensors matrices;
      for (const size_t member : batch.members) {
        matrices.push_back(matrix_of(bucket.gradients[member]));
      }
      batch.matrices = at::stack(matrices);
    }
    return {std::move(batches), std::move(others)};
  }

  [[nodiscard]] int64_t rank_of(int64_t rows, int64_t columns) const {
    return std::min({rows, columns, options_.matrix_rank});
  }

  [[nodiscard]] bool is_worth_compressing(const at::Tensor& gradient) const {
    if (gradient.numel() == 0) {
      return false;
    }
    const at::Tensor matrix = matrix_of(gradient);
    const int64_t rows = matrix.size(0);
    const int64_t columns = matrix.size(1);
    const auto compressed = static_cast<double>((rows + columns) * rank_of(rows, columns));
    return compressed * options_.min_compression_rate < static_cast<double>(rows * columns);
  }

  /// Starts from the matrices Q of the pass before, or from random ones.
  void draw_or_reuse(std::vector<Batch>& batches, const GradientBucket& bucket) {
    bool reuse = options_.warm_start;
    for (size_t i = 0; i < bucket.parameters.size(); ++i) {
      reuse = std::exchange(state_of(bucket, i).is_started, true) && reuse;
    }
    std::optional<at::Generator> generator;
    if (!reuse) {
      generator = at::make_generator<at::CPUGeneratorImpl>(next_seed());
    }
    for (auto& batch : batches) {
      const auto& matrices = batch.matrices;
      batch.q = reuse ? earlier(batch, bucket)
                      : at::randn({matrices.size(0), matrices.size(2),
                                   rank_of(matrices.size(1), matrices.size(2))},
                                  generator, matrices.options());
      orthogonalize(batch.q, options_.orthogonalization_epsilon);
    }
  }

  at::Tensor earlier(const Batch& batch, const GradientBucket& bucket) {
    Tensors matrices;
    for (const size_t member : batch.members) {
      matrices.push_back(state_of(bucket, member).q);
    }
    return at::stack(matrices);
  }

  void decompress(const Batch& batch, const GradientBucket& bucket) {
    const at::Tensor products = at::bmm(batch.p, batch.q.transpose(1, 2));
    for (size_t i = 0; i < batch.members.size(); ++i) {
      const auto place = static_cast<int64_t>(i);
      matrix_of(bucket.gradients[batch.members[i]]).copy_(products.select(0, place));
      state_of(bucket, batch.members[i]).q = batch.q.select(0, place);
    }
  }

  /// As NumPy's `RandomState.randint(1_000_000_000)`.
  uint64_t next_seed() {
    constexpr uint32_t kLimit = 1'000'000'000;
    constexpr uint32_t kMask = (1U << 30) - 1;
    uint32_t number = kLimit;
    while (number >= kLimit) {
      number = static_cast<uint32_t>(random_()) & kMask;
    }
    return number;
  }

  ExchangeOptions options_;
  std::mt19937 random_;
  int64_t steps_ = 0;
  PerParameter<State> states_;
};

}  // namespace

std::unique_ptr<GradientExchange> make_power_sgd(const ExchangeOptions& options) {
  return std::make_unique<PowerSgd>(options);
}

}  // namespace torchfeed::detail
