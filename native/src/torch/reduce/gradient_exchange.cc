// SPDX-License-Identifier: Apache-2.0
#include "torch/reduce/gradient_exchange.h"

#include <ATen/ATen.h>

#include <array>
#include <sstream>

#include "torch/group/collectives.h"
#include "torchfeed/error.h"
#include "torchfeed/process_group.h"

namespace torchfeed::detail {
namespace {

constexpr std::array<const char*, ExchangeOptions::kKindCount> kNames = {
    "allReduce", "float16", "bfloat16", "byteGrad", "powerSgd", "qAdam"};

int64_t bytes_in(const at::Tensor& tensor) { return static_cast<int64_t>(tensor.nbytes()); }

const char* name_of(const ExchangeOptions& options) {
  return kNames.at(static_cast<size_t>(options.kind));
}

void require(bool holds, const char* name, const std::string& rule, const std::string& got) {
  if (!holds) {
    throw Error(ErrorCode::kInvalidArgument,
                std::string(name) + " must be " + rule + ", got " + got);
  }
}

/// Sends gradients as numbers of 16 bits. Source: PyTorch, `fp16_compress_hook`,
/// `bf16_compress_hook`.
class HalfExchange : public GradientExchange {
 public:
  explicit HalfExchange(at::ScalarType dtype) : dtype_(dtype) {}

  void run(ExchangeRanks& ranks, const GradientBucket& bucket) override {
    at::Tensor half = bucket.flat.to(dtype_);
    average_by_nodes(ranks, half, average);
    bucket.flat.copy_(half);
  }

 private:
  at::ScalarType dtype_;
};

/// Sends gradients as they are; for nodes.
class PlainExchange : public GradientExchange {
 public:
  void run(ExchangeRanks& ranks, const GradientBucket& bucket) override {
    average_by_nodes(ranks, bucket.flat, average);
  }
};

}  // namespace

std::vector<NamedTensor> GradientExchange::kept(
    const std::vector<NamedTensor>& /*parameters*/) const {
  return {};
}

std::vector<at::Tensor> GradientExchange::shared(
    const std::vector<NamedTensor>& /*parameters*/) const {
  return {};
}

void GradientExchange::rescale(double /*factor*/) {}

void GradientExchange::scale_errors(double /*factor*/) {}

void GradientExchange::begin_after(int64_t /*steps*/, const std::string& /*random*/,
                                   const std::vector<NamedTensor>& /*parameters*/) {}

int64_t ExchangeRanks::sent_bytes() const {
  return sent_bytes_ + (node_ && node_->leaders ? node_->leaders->sent_bytes() : 0);
}

void ExchangeRanks::sum(const std::vector<at::Tensor>& tensors) {
  for (const auto& tensor : tensors) {
    sent_bytes_ += sent_by_all_reduce(bytes_in(tensor), size());
  }
  collectives::all_reduce(call_, tensors, ProcessGroup::kSum);
}

void ExchangeRanks::all_to_all(const at::Tensor& received, const at::Tensor& sent) {
  sent_bytes_ += bytes_in(sent) / size() * (size() - 1);
  collectives::all_to_all_single(call_, received, sent, {}, {});
}

void ExchangeRanks::all_gather(const at::Tensor& received, const at::Tensor& sent) {
  sent_bytes_ += bytes_in(sent) * (size() - 1);
  collectives::all_gather_into(call_, received, sent);
}

void ExchangeRanks::sum_at_first(const at::Tensor& tensor) {
  collectives::reduce(call_, tensor, ProcessGroup::kSum, 0);
}

void ExchangeRanks::copy_from_first(const at::Tensor& tensor) {
  collectives::broadcast(call_, tensor, 0);
}

int64_t sent_by_all_reduce(int64_t bytes, int64_t ranks) { return 2 * bytes * (ranks - 1) / ranks; }

void average(ExchangeRanks& ranks, const at::Tensor& numbers) {
  numbers.div_(ranks.size());  // first, so that the sum does not overflow
  ranks.sum({numbers});
}

void average_by_nodes(ExchangeRanks& ranks, const at::Tensor& numbers,
                      const std::function<void(ExchangeRanks&, const at::Tensor&)>& between_nodes) {
  const ExchangeNode* node = ranks.node();
  if (!node) {
    between_nodes(ranks, numbers);
    return;
  }
  numbers.div_(node->ranks.size());
  node->ranks.sum_at_first(numbers);
  if (node->leaders && node->leaders->size() > 1) {
    between_nodes(*node->leaders, numbers);
  }
  node->ranks.copy_from_first(numbers);
}

bool has_exchange(const ExchangeOptions& options) {
  return options.kind != ExchangeOptions::kAllReduce || options.ranks_per_node > 1;
}

void check_exchange(const ExchangeOptions& options, int64_t world_size) {
  require(options.kind >= 0 && options.kind < ExchangeOptions::kKindCount, "kind",
          "in [0, " + std::to_string(ExchangeOptions::kKindCount) + ")",
          std::to_string(options.kind));
  require(options.ranks_per_node >= 1 && world_size % options.ranks_per_node == 0, "ranks_per_node",
          "a divisor of the number of ranks, " + std::to_string(world_size),
          std::to_string(options.ranks_per_node));
  require(options.ranks_per_node == 1 || options.kind != ExchangeOptions::kPowerSgd,
          "ranks_per_node", "1 with powerSgd", std::to_string(options.ranks_per_node));
  require(options.warmup_steps >= 0, "warmup_steps", "at least 0",
          std::to_string(options.warmup_steps));
  require(options.matrix_rank >= 1, "matrix_rank", "at least 1",
          std::to_string(options.matrix_rank));
  require(options.min_compression_rate > 0, "min_compression_rate", "above 0",
          std::to_string(options.min_compression_rate));
  require(options.orthogonalization_epsilon >= 0, "orthogonalization_epsilon", "at least 0",
          std::to_string(options.orthogonalization_epsilon));
  require(options.seed >= 0 && options.seed < int64_t{1} << 32, "seed", "in [0, 2^32)",
          std::to_string(options.seed));
  require(options.beta1 >= 0 && options.beta1 < 1, "beta1", "in [0, 1)",
          std::to_string(options.beta1));
}

void check_exchangeable(const ExchangeOptions& options, const std::vector<NamedTensor>& parameters,
                        const std::vector<bool>& sparse) {
  if (!has_exchange(options)) {
    return;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto dtype = parameters[i].tensor.scalar_type();
    const c10::Device device = parameters[i].tensor.device();
    const bool is_wide = dtype == at::kFloat || dtype == at::kDouble;
    const bool is_half = dtype == at::kHalf || dtype == at::kBFloat16;
    if (!device.is_cpu() && options.kind > ExchangeOptions::kBFloat16) {
      throw Error(ErrorCode::kInvalidArgument, std::string("the exchange ") + name_of(options) +
                                                   " takes gradients on cpu only, got parameter " +
                                                   parameters[i].name + " on " + device.str());
    }
    if (sparse[i]) {
      throw Error(ErrorCode::kInvalidArgument,
                  "parameter " + parameters[i].name +
                      " has sparse gradients, which only the exchange allReduce without nodes "
                      "takes, got " +
                      describe_exchange(options));
    }
    if (!is_wide && (!is_half || options.kind == ExchangeOptions::kPowerSgd)) {
      throw Error(ErrorCode::kInvalidArgument,
                  std::string("the exchange ") + name_of(options) + " takes no gradients of " +
                      c10::toString(dtype) + ", which parameter " + parameters[i].name + " has");
    }
  }
}

std::string describe_exchange(const ExchangeOptions& options) {
  std::ostringstream out;
  out << std::boolalpha << name_of(options);
  if (options.kind == ExchangeOptions::kPowerSgd) {
    out << "(matrixApproximationRank " << options.matrix_rank << ", startIteration "
        << options.warmup_steps << ", minCompressionRate " << options.min_compression_rate
        << ", errorFeedback " << options.error_feedback << ", warmStart " << options.warm_start
        << ", orthogonalizationEpsilon " << options.orthogonalization_epsilon
        << ", batchTensorsWithSameShape " << options.batch_same_shapes << ", randomSeed "
        << options.seed << ')';
  } else if (options.kind == ExchangeOptions::kQAdam) {
    out << "(warmupSteps " << options.warmup_steps << ", beta1 " << options.beta1 << ')';
  }
  if (options.ranks_per_node > 1) {
    out << " between nodes of " << options.ranks_per_node << " ranks";
  }
  return out.str();
}

std::unique_ptr<GradientExchange> make_exchange(const ExchangeOptions& options) {
  switch (options.kind) {
    case ExchangeOptions::kAllReduce:
      return std::make_unique<PlainExchange>();
    case ExchangeOptions::kFloat16:
      return std::make_unique<HalfExchange>(at::kHalf);
    case ExchangeOptions::kBFloat16:
      return std::make_unique<HalfExchange>(at::kBFloat16);
    case ExchangeOptions::kByteGrad:
      return make_byte_grad();
    case ExchangeOptions::kPowerSgd:
      return make_power_sgd(options);
    case ExchangeOptions::kQAdam:
      return make_q_adam(options);
    default:
      throw Error(ErrorCode::kInternal, std::string("no exchange is ") + name_of(options));
  }
}

}  // namespace torchfeed::detail
