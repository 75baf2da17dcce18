// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/reducer_state.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "torch/reduce/reducer_impl.h"

namespace torchfeed {
namespace {

using detail::GradientExchange;
using detail::NamedTensor;

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(ErrorCode::kInvalidArgument, "the state does not fit: " + reason);
}

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    return "an undefined one";
  }
  std::ostringstream out;
  out << c10::toString(tensor.scalar_type()) << ' ' << tensor.sizes();
  return out.str();
}

std::string text_of(const std::vector<detail::BucketRecord>& buckets) {
  std::ostringstream out;
  for (const auto& bucket : buckets) {
    const char* separator = "";
    for (const size_t parameter : bucket.parameters) {
      out << std::exchange(separator, " ") << parameter;
    }
    out << '\n';
  }
  return out.str();
}

/// Returns the buckets of a state, which hold each of the parameters once.
std::vector<std::vector<size_t>> buckets_of(const std::string& text,
                                            const std::vector<NamedTensor>& parameters,
                                            const std::vector<bool>& sparse) {
  std::vector<std::vector<size_t>> buckets;
  std::vector<bool> seen(parameters.size());
  size_t count = 0;
  for (const auto& line : detail::lines_of(text)) {
    auto& bucket = buckets.emplace_back();
    std::istringstream in(line);
    for (int64_t number = 0; in >> number;) {
      if (number < 0 || std::cmp_greater_equal(number, parameters.size()) ||
          seen[static_cast<size_t>(number)]) {
        refuse("a bucket has no or twice the parameter " + std::to_string(number));
      }
      const auto index = static_cast<size_t>(number);
      seen[index] = true;
      ++count;
      bucket.push_back(index);
      if (parameters[index].tensor.scalar_type() !=
              parameters[bucket.front()].tensor.scalar_type() ||
          (bucket.size() > 1 && (sparse[index] || sparse[bucket.front()]))) {
        refuse("a bucket mixes dtypes or sparse gradients, line " + line);
      }
    }
    if (!in.eof() || bucket.empty()) {
      refuse("a bucket must be numbers of parameters, got " + line);
    }
  }
  if (!buckets.empty() && count != parameters.size()) {
    refuse("its buckets have " + std::to_string(count) + " of " +
           std::to_string(parameters.size()) + " parameters");
  }
  return buckets;
}

/// Returns two numbers for each parameter, see `ReducerState::uses`; empty if there was no pass.
std::vector<int64_t> uses_of(const std::string& text, size_t parameters, bool is_static) {
  std::vector<int64_t> uses;
  std::istringstream in(text);
  for (int64_t count = 0; in >> count;) {
    uses.push_back(std::clamp<int64_t>(count, 0, std::numeric_limits<int>::max()));
  }
  if (!in.eof() || (!uses.empty() && (!is_static || uses.size() != 2 * parameters))) {
    refuse("uses must be two numbers per parameter of a static graph, got " + text);
  }
  return uses;
}

/// Copies tensors to where an exchange keeps them.
void fill(const std::vector<NamedTensor>& kept, const std::vector<std::string>& names,
          const std::vector<at::Tensor>& tensors) {
  std::unordered_map<std::string, at::Tensor> given;
  for (size_t i = 0; i < std::min(names.size(), tensors.size()); ++i) {
    given.emplace(names[i], tensors[i]);
  }
  if (kept.size() != names.size() || kept.size() != tensors.size() || kept.size() != given.size()) {
    refuse("the exchange of gradients keeps " + std::to_string(kept.size()) +
           " tensors after these steps, got " + std::to_string(tensors.size()));
  }
  for (const auto& [name, tensor] : kept) {
    const auto found = given.find(name);
    const bool fits = found != given.end() && found->second.defined() &&
                      found->second.scalar_type() == tensor.scalar_type() &&
                      found->second.sizes() == tensor.sizes();
    if (!fits) {
      refuse("the exchange of gradients keeps " + name + ' ' + describe(tensor) + ", got " +
             (found == given.end() ? "none" : describe(found->second)));
    }
  }
  for (const auto& [name, tensor] : kept) {
    tensor.copy_(given.at(name));
  }
}

void restore_exchange(GradientExchange& exchange, const ReducerState& state,
                      const std::vector<NamedTensor>& parameters) {
  const at::NoGradGuard no_grad;
  const std::string random = exchange.random();
  if (state.exchange_steps < 0) {
    refuse("steps must be at least 0, got " + std::to_string(state.exchange_steps));
  }
  try {
    exchange.begin_after(state.exchange_steps, state.exchange_random, parameters);
    fill(exchange.kept(parameters), detail::lines_of(state.names), state.tensors);
  } catch (...) {
    exchange.begin_after(0, random, parameters);
    throw;
  }
}

}  // namespace

void GradientReducer::Impl::check_between_steps() {
  const std::lock_guard lock(mutex_);
  note_interruption();
  refuse_if_failed();
  refuse_open_step("a state is taken");
}

void GradientReducer::Impl::refuse_open_step(const std::string& what) const {
  if (uneven_) {
    throw Error(ErrorCode::kIllegalState,
                what + " outside of uneven inputs; close the scope first");
  }
  if (accumulated_) {
    throw Error(
        ErrorCode::kIllegalState,
        what + " between steps, but gradients have been accumulated that are not averaged yet");
  }
}

ReducerState GradientReducer::Impl::state() {
  check_between_steps();
  group_->barrier();  // reports a rank that calls something else
  const std::lock_guard lock(mutex_);
  ReducerState state;
  if (!used_.empty()) {
    std::vector<int64_t> uses(used_.begin(), used_.end());
    uses.insert(uses.end(), used_.begin(), used_.end());
    if (reducer_) {
      uses = reducer_->uses();
    }
    for (const int64_t count : uses) {
      state.uses += std::to_string(count) + ' ';
    }
  }
  if (!reducer_) {
    return state;
  }
  reducer_->rebuild();
  if (reducer_->is_final()) {
    state.buckets = text_of(reducer_->buckets());
  }
  if (GradientExchange* exchange = reducer_->exchange()) {
    const at::NoGradGuard no_grad;
    state.exchange_steps = exchange->steps();
    state.exchange_random = exchange->random();
    for (const auto& [name, tensor] : exchange->kept(trained_)) {
      state.names += name + '\n';
      state.tensors.push_back(tensor.clone(at::MemoryFormat::Contiguous));
    }
  }
  return state;
}

void GradientReducer::Impl::restore(const ReducerState& state) {
  check_between_steps();
  const std::lock_guard lock(mutex_);
  if (passes_ > 0) {
    throw Error(ErrorCode::kIllegalState,
                "a state is restored before the first backward pass, got " +
                    std::to_string(passes_) + " passes");
  }
  auto buckets = buckets_of(state.buckets, trained_, sparse_);
  const auto uses = uses_of(state.uses, trained_.size(), options_.static_graph);
  GradientExchange* exchange = reducer_ ? reducer_->exchange() : nullptr;
  if (exchange) {
    restore_exchange(*exchange, state, trained_);
  } else if (!state.names.empty() || !state.tensors.empty()) {
    refuse("the exchange of gradients keeps no tensors, got " +
           std::to_string(state.tensors.size()));
  }
  if (reducer_ && !buckets.empty()) {
    reducer_->choose(std::move(buckets));
  }
  for (size_t i = 0; i < uses.size() / 2; ++i) {
    used_.push_back(uses[i] > 0);
  }
  if (reducer_ && !uses.empty()) {
    reducer_->assume_first_pass(uses);
  }
}

}  // namespace torchfeed
