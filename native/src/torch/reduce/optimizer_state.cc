// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/optimizer_state.h"

#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "torch/base/guard.h"

namespace torchfeed {
namespace {

using torch::optim::Optimizer;

template <typename OptimizerClass, typename ParameterState, typename GroupOptions>
struct Kind {
  using State = ParameterState;
  using Options = GroupOptions;
  const char* name;

  static bool is(const Optimizer& optimizer) {
    return dynamic_cast<const OptimizerClass*>(&optimizer) != nullptr;
  }
};

using Sgd = Kind<torch::optim::SGD, torch::optim::SGDParamState, torch::optim::SGDOptions>;
using Adam = Kind<torch::optim::Adam, torch::optim::AdamParamState, torch::optim::AdamOptions>;
using AdamW = Kind<torch::optim::AdamW, torch::optim::AdamWParamState, torch::optim::AdamWOptions>;
using RmsProp =
    Kind<torch::optim::RMSprop, torch::optim::RMSpropParamState, torch::optim::RMSpropOptions>;
using Adagrad =
    Kind<torch::optim::Adagrad, torch::optim::AdagradParamState, torch::optim::AdagradOptions>;

/// Calls `use` with the kind of the optimizer.
template <typename Use>
auto with_kind(const Optimizer& optimizer, Use use) {
  if (Sgd::is(optimizer)) {
    return use(Sgd{"SGD"});
  }
  if (Adam::is(optimizer)) {
    return use(Adam{"Adam"});
  }
  if (AdamW::is(optimizer)) {
    return use(AdamW{"AdamW"});
  }
  if (RmsProp::is(optimizer)) {
    return use(RmsProp{"RMSprop"});
  }
  if (Adagrad::is(optimizer)) {
    return use(Adagrad{"Adagrad"});
  }
  throw Error(ErrorCode::kInvalidArgument,
              "the optimizer must be SGD, Adam, AdamW, RMSprop or Adagrad");
}

at::Tensor count(int64_t steps) { return at::full({}, steps, at::kLong); }

std::vector<at::Tensor> list(const Sgd::State& state) { return {state.momentum_buffer()}; }

void assign(Sgd::State& state, const std::vector<at::Tensor>& tensors) {
  state.momentum_buffer(tensors.at(0));
}

std::vector<double> list(const Sgd::Options& options) {
  return {options.lr(), options.momentum(), options.dampening(), options.weight_decay(),
          options.nesterov() ? 1.0 : 0.0};
}

void assign(Sgd::Options& options, const double* values) {
  options.lr(values[0]).momentum(values[1]).dampening(values[2]).weight_decay(values[3]).nesterov(
      values[4] != 0);
}

// Adam and AdamW have the same fields.
template <typename State>
auto list(const State& state) -> decltype(std::vector<at::Tensor>{state.max_exp_avg_sq()}) {
  return {count(state.step()), state.exp_avg(), state.exp_avg_sq(), state.max_exp_avg_sq()};
}

template <typename State>
auto assign(State& state,
            const std::vector<at::Tensor>& tensors) -> decltype(state.max_exp_avg_sq(), void()) {
  state.step(tensors.at(0).item<int64_t>());
  state.exp_avg(tensors.at(1));
  state.exp_avg_sq(tensors.at(2));
  state.max_exp_avg_sq(tensors.at(3));
}

template <typename Options>
auto list(const Options& options) -> decltype(options.amsgrad(), std::vector<double>()) {
  return {options.lr(),  std::get<0>(options.betas()), std::get<1>(options.betas()),
          options.eps(), options.weight_decay(),       options.amsgrad() ? 1.0 : 0.0};
}

template <typename Options>
auto assign(Options& options, const double* values) -> decltype(options.amsgrad(), void()) {
  options.lr(values[0])
      .betas(std::make_tuple(values[1], values[2]))
      .eps(values[3])
      .weight_decay(values[4])
      .amsgrad(values[5] != 0);
}

std::vector<at::Tensor> list(const RmsProp::State& state) {
  return {count(state.step()), state.square_avg(), state.momentum_buffer(), state.grad_avg()};
}

void assign(RmsProp::State& state, const std::vector<at::Tensor>& tensors) {
  state.step(tensors.at(0).item<int64_t>());
  state.square_avg(tensors.at(1));
  state.momentum_buffer(tensors.at(2));
  state.grad_avg(tensors.at(3));
}

std::vector<double> list(const RmsProp::Options& options) {
  return {options.lr(),           options.alpha(),    options.eps(),
          options.weight_decay(), options.momentum(), options.centered() ? 1.0 : 0.0};
}

void assign(RmsProp::Options& options, const double* values) {
  options.lr(values[0])
      .alpha(values[1])
      .eps(values[2])
      .weight_decay(values[3])
      .momentum(values[4])
      .centered(values[5] != 0);
}

std::vector<at::Tensor> list(const Adagrad::State& state) {
  return {count(state.step()), state.sum()};
}

void assign(Adagrad::State& state, const std::vector<at::Tensor>& tensors) {
  state.step(tensors.at(0).item<int64_t>());
  state.sum(tensors.at(1));
}

std::vector<double> list(const Adagrad::Options& options) {
  return {options.lr(), options.lr_decay(), options.weight_decay(),
          options.initial_accumulator_value(), options.eps()};
}

void assign(Adagrad::Options& options, const double* values) {
  options.lr(values[0])
      .lr_decay(values[1])
      .weight_decay(values[2])
      .initial_accumulator_value(values[3])
      .eps(values[4]);
}

}  // namespace

std::string OptimizerState::kind(const torch::optim::Optimizer& optimizer) {
  return guarded(
      [&] { return with_kind(optimizer, [](auto kind) { return std::string(kind.name); }); });
}

std::vector<torch::Tensor> OptimizerState::tensors(const torch::optim::Optimizer& optimizer,
                                                   const torch::Tensor& parameter) {
  return guarded([&] {
    return with_kind(optimizer, [&](auto kind) -> std::vector<at::Tensor> {
      const auto kept = optimizer.state().find(parameter.unsafeGetTensorImpl());
      if (kept == optimizer.state().end()) {
        return {};
      }
      return list(static_cast<const typename decltype(kind)::State&>(*kept->second));
    });
  });
}

void OptimizerState::set_tensors(torch::optim::Optimizer& optimizer, const torch::Tensor& parameter,
                                 const std::vector<torch::Tensor>& tensors) {
  guarded([&] {
    with_kind(optimizer, [&](auto kind) {
      if (tensors.empty()) {
        optimizer.state().erase(parameter.unsafeGetTensorImpl());
        return;
      }
      auto state = std::make_unique<typename decltype(kind)::State>();
      assign(*state, tensors);
      optimizer.state()[parameter.unsafeGetTensorImpl()] = std::move(state);
    });
  });
}

void OptimizerState::options(const torch::optim::Optimizer& optimizer, int64_t group,
                             double* values) {
  guarded([&] {
    with_kind(optimizer, [&](auto kind) {
      const auto& options = optimizer.param_groups().at(static_cast<size_t>(group)).options();
      const auto all = list(static_cast<const typename decltype(kind)::Options&>(options));
      std::copy(all.begin(), all.end(), values);
    });
  });
}

void OptimizerState::set_options(torch::optim::Optimizer& optimizer, int64_t group,
                                 const double* values) {
  guarded([&] {
    with_kind(optimizer, [&](auto kind) {
      auto& options = optimizer.param_groups().at(static_cast<size_t>(group)).options();
      assign(static_cast<typename decltype(kind)::Options&>(options), values);
    });
  });
}

}  // namespace torchfeed
