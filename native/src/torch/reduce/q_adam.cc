// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <utility>

#include "torch/reduce/gradient_exchange.h"

namespace torchfeed::detail {
namespace {

/// Averages gradients at first, and then the momentum of an Adam optimizer, as bytes.
///
/// Source: Bagua, `QAdam`, except that the momentum takes in every gradient of the warm-up; Bagua
/// drops the last one. A pass that ends with a gradient that is not finite, which all ranks see, is
/// not counted and leaves the momentum as it was: an optimizer skips its step.
class QAdam : public GradientExchange {
 public:
  explicit QAdam(const ExchangeOptions& options)
      : warmup_steps_(options.warmup_steps), beta1_(options.beta1) {}

  void run(ExchangeRanks& ranks, const GradientBucket& bucket) override {
    const bool is_warm = steps_ >= warmup_steps_;
    if (is_first_) {
      before_ = momenta_;
      finite_ = at::Tensor();
    }
    if (!is_warm) {
      average(ranks, bucket.flat);
    }
    const at::Tensor momenta = updated(bucket);
    if (is_warm) {
      average_in_bytes(ranks, momenta);
      bucket.flat.copy_(momenta);
    }
    keep(bucket, momenta);
    const at::Tensor finite = bucket.flat.isfinite().all();
    finite_ = finite_.defined() ? finite_.logical_and(finite) : finite;
    is_first_ = bucket.is_last;
    if (bucket.is_last) {
      end_pass();
    }
  }

  void rescale(double factor) override {
    for (const auto& [parameter, momentum] : momenta_) {
      momentum.mul_(factor);
    }
  }

  [[nodiscard]] int64_t steps() const override { return steps_; }

  [[nodiscard]] std::vector<NamedTensor> kept(
      const std::vector<NamedTensor>& parameters) const override {
    std::vector<NamedTensor> kept;
    const auto& momenta = is_first_ ? momenta_ : before_;  // of the last pass that ended
    for (const auto& [name, parameter] : parameters) {
      if (steps_ > 0) {
        kept.push_back({"momentum." + name, momenta.at(parameter.unsafeGetTensorImpl())});
      }
    }
    return kept;
  }

  [[nodiscard]] std::vector<at::Tensor> shared(
      const std::vector<NamedTensor>& parameters) const override {
    std::vector<at::Tensor> shared;
    for (const auto& [name, tensor] : kept(parameters)) {
      shared.push_back(tensor);
    }
    return shared;
  }

  void begin_after(int64_t steps, const std::string& /*random*/,
                   const std::vector<NamedTensor>& parameters) override {
    steps_ = steps;
    is_first_ = true;
    momenta_.clear();
    for (const auto& [name, parameter] : parameters) {
      if (steps > 0) {
        momenta_[parameter.unsafeGetTensorImpl()] = at::zeros({parameter.numel()}, at::kFloat);
      }
    }
  }

 private:
  void end_pass() {
    if (!finite_.defined() || finite_.item<bool>()) {
      ++steps_;
    } else {
      momenta_ = std::move(before_);
    }
    before_.clear();
  }

  /// Returns the momenta of the bucket's parameters with their gradients taken in.
  at::Tensor updated(const GradientBucket& bucket) const {
    at::Tensor momenta = bucket.flat.to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
    momenta.mul_(1 - beta1_);
    int64_t start = 0;
    for (const auto& parameter : bucket.parameters) {
      const auto found = momenta_.find(parameter.unsafeGetTensorImpl());
      if (found != momenta_.end()) {
        momenta.narrow(0, start, parameter.numel()).add_(found->second, beta1_);
      }
      start += parameter.numel();
    }
    return momenta;
  }

  void keep(const GradientBucket& bucket, const at::Tensor& momenta) {
    int64_t start = 0;
    for (const auto& parameter : bucket.parameters) {
      momenta_[parameter.unsafeGetTensorImpl()] = momenta.narrow(0, start, parameter.numel());
      start += parameter.numel();
    }
  }

  int64_t warmup_steps_;
  double beta1_;
  int64_t steps_ = 0;
  PerParameter<at::Tensor> momenta_;
  PerParameter<at::Tensor> before_;  // the momenta at the start of a pass
  bool is_first_ = true;             // whether the next bucket begins a pass
  at::Tensor finite_;                // whether the gradients of this pass are, on their device
};

}  // namespace

std::unique_ptr<GradientExchange> make_q_adam(const ExchangeOptions& options) {
  return std::make_unique<QAdam>(options);
}

}  // namespace torchfeed::detail
