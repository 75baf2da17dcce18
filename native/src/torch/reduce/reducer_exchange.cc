// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "torch/reduce/gradient_exchange.h"
#include "torch/reduce/reducer_impl.h"

namespace torchfeed {
namespace {

using detail::ExchangeNode;
using detail::ExchangeRanks;
using detail::GradientExchange;

template <class Group>
void with_operations(const std::shared_ptr<Group>& group,
                     const std::function<void(const RankCall&)>& body) {
  (void)group->collective(/*mode=*/0, body);
}

}  // namespace

bool GradientReducer::Impl::needs_exchange_group() const {
  return reducer_ && detail::has_exchange(options_.exchange) && !reducer_->has_exchange();
}

void GradientReducer::Impl::exchange_over(const ExchangeImpls& groups) {
  const std::lock_guard lock(mutex_);
  if (!needs_exchange_group() || groups.all->world_size() != group_->world_size()) {
    throw Error(ErrorCode::kIllegalState,
                "only an exchange without a group takes one, of as many ranks as the reducer's");
  }
  const int64_t node_ranks = groups.node ? groups.node->world_size() : 1;
  if (node_ranks != options_.exchange.ranks_per_node) {
    throw Error(ErrorCode::kIllegalState, "a node must have " +
                                              std::to_string(options_.exchange.ranks_per_node) +
                                              " ranks, got " + std::to_string(node_ranks));
  }
  std::vector<std::shared_ptr<ProcessGroup::Impl>> used;
  for (const auto& group : {groups.all, groups.node, groups.leaders}) {
    if (group) {
      group_->abort_with(group);
      used.push_back(group);
    }
  }
  const auto run = [groups](const std::function<void(ExchangeRanks&)>& body) {
    if (!groups.node) {
      with_operations(groups.all, [&](const RankCall& all) {
        ExchangeRanks ranks(all);
        body(ranks);
      });
      return;
    }
    const auto with_node = [&](const RankCall& all, const RankCall& own, ExchangeRanks* leaders) {
      ExchangeRanks in_node(own);
      const ExchangeNode node{.ranks = in_node, .leaders = leaders};
      ExchangeRanks ranks(all, &node);
      body(ranks);
    };
    with_operations(groups.all, [&](const RankCall& all) {
      with_operations(groups.node, [&](const RankCall& own) {
        if (!groups.leaders) {
          with_node(all, own, nullptr);
          return;
        }
        with_operations(groups.leaders, [&](const RankCall& others) {
          ExchangeRanks leaders(others);
          with_node(all, own, &leaders);
        });
      });
    });
  };
  const auto abort = [used] {
    for (const auto& group : used) {
      group->abort();
    }
  };
  reducer_->exchange_over({.run = run, .abort = abort}, exchange_);
}

void GradientReducer::Impl::rescale_exchange(double factor) {
  const std::lock_guard lock(mutex_);
  if (GradientExchange* exchange = reducer_ ? reducer_->exchange() : nullptr) {
    const at::NoGradGuard no_grad;
    exchange->rescale(factor);
  }
}

}  // namespace torchfeed
