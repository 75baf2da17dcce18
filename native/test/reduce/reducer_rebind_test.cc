// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <csignal>
#include <exception>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <vector>

#include "group/rank_threads.h"
#include "reduce/reducer_models.h"
#include "torchfeed/reducer.h"

namespace torchfeed::testing {
namespace {

using Kind = ExchangeOptions::Kind;
using Group = std::unique_ptr<ProcessGroup>;

/// Ranks of this process that meet in one group after the other.
class Meetings {
 public:
  [[nodiscard]] Group join(const std::string& name, int64_t rank, int64_t ranks) const {
    return ranks == 1 ? ProcessGroup::adopt(0, 0, 1)
                      : ProcessGroup::connect(reinterpret_cast<int64_t>(store_.get()), name, rank,
                                              ranks, 60'000, "127.0.0.1", "");
  }

  /// Connects the exchange of a reducer, if it has one.
  void connect(GradientReducer& reducer, const std::string& name, const ProcessGroup& group) const {
    if (reducer.needs_exchange_group()) {
      const auto side = join(name + "/exchange", group.rank(), group.world_size());
      reducer.exchange_over(*side);
    }
  }

 private:
  c10::intrusive_ptr<c10d::HashStore> store_ = c10::make_intrusive<c10d::HashStore>();
};

void on_threads(int count, const std::function<void(int64_t, const Meetings&)>& body) {
  std::signal(SIGPIPE, SIG_IGN);
  const Meetings meetings;
  std::vector<std::exception_ptr> failures(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      try {
        body(i, meetings);
      } catch (...) {
        failures[static_cast<size_t>(i)] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  for (const auto& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
}

ReducerOptions rebind_options(Kind kind) {
  ReducerOptions options = small_buckets();
  options.exchange.kind = kind;
  options.exchange.warmup_steps = kind >= Kind::kPowerSgd ? 1 : 0;
  return options;
}

constexpr int64_t kHidden = 16;  // enough for PowerSGD

/// A model with an optimizer and its reducer.
struct Replica {
  explicit Replica(const ReducerOptions& its_options, double scale = 1)
      : options(its_options), model(kHidden, scale) {}

  void wrap(const Meetings& meetings, const std::string& name, const ProcessGroup& group) {
    reducer = model.reduce(group, options);
    meetings.connect(*reducer, name, group);
  }

  void rebind(const Meetings& meetings, const std::string& name, const ProcessGroup& group) const {
    reducer->rebind(group);
    meetings.connect(*reducer, name, group);
  }

  void train(int64_t rank, int64_t steps) const {
    for (int64_t step = 0; step < steps; ++step) {
      model.clear();
      reducer->backward(model.loss(rows((7 * rank + 3 * step) % 40, 5)));
      const at::NoGradGuard no_grad;
      model.first.sub_(model.first.grad(), 0.01);
      model.second.sub_(model.second.grad(), 0.01);
    }
  }

  void load(const Replica& other) const {
    const at::NoGradGuard no_grad;
    model.first.copy_(other.model.first);
    model.second.copy_(other.model.second);
  }

  void expect_equal(const Replica& other) const {
    EXPECT_TRUE(at::equal(model.first, other.model.first)) << "exchange " << options.exchange.kind;
    EXPECT_TRUE(at::equal(model.second, other.model.second))
        << "exchange " << options.exchange.kind;
  }

  ReducerOptions options;
  Model model;
  std::unique_ptr<GradientReducer> reducer;
};

/// Returns a copy of a state with its errors multiplied by a factor, which is 0 for a rank that has
/// not trained yet.
ReducerState with_errors(const ReducerState& other, double factor) {
  ReducerState state = other;
  for (size_t i = 0; i < state.tensors.size(); ++i) {
    state.tensors[i] = other.tensors[i].clone();
  }
  std::istringstream names(state.names);
  for (size_t i = 0; i < state.tensors.size(); ++i) {
    std::string name;
    std::getline(names, name);
    if (name.starts_with("error.")) {
      state.tensors[i].mul_(factor);
    }
  }
  return state;
}

/// Trains a rebound replica, and another that is wrapped again with the same parameters and states.
void expect_as_new_wrapper(const Meetings& meetings, const std::string& name, int64_t rank,
                           int64_t ranks, Replica& rebound, ReducerState state) {
  const Group group = meetings.join(name, rank, ranks);
  const Group other = meetings.join(name + "/fresh", rank, ranks);
  Replica fresh(rebound.options);
  if (rebound.reducer) {
    rebound.rebind(meetings, name, *group);
  } else {
    rebound.wrap(meetings, name, *group);
  }
  fresh.load(rebound);
  fresh.wrap(meetings, name + "/fresh", *other);
  state.buckets.clear();
  state.uses.clear();
  fresh.reducer->restore(state);
  rebound.train(rank, 4);
  fresh.train(rank, 4);
  rebound.expect_equal(fresh);
}

void expect_continues(const ReducerOptions& options) {
  std::vector<ReducerState> states(3);  // of the threads, written by one and read by another
  on_threads(3, [&](int64_t thread, const Meetings& meetings) {
    const Group all = meetings.join("all", thread, 3);
    Replica replica(options, 1 + static_cast<double>(thread));
    ReducerState mine;
    if (thread < 2) {
      const Group two = meetings.join("two", thread, 2);
      replica.wrap(meetings, "two", *two);
      replica.train(thread, 3);
      mine = replica.reducer->state();
      states[static_cast<size_t>(thread)] = mine;
    }
    (void)all->barrier();
    expect_as_new_wrapper(meetings, "three", thread, 3, replica,
                          thread < 2 ? with_errors(mine, 3.0 / 2) : with_errors(states[0], 0));
    ReducerState after = replica.reducer->state();
    (void)all->barrier();
    if (thread != 0) {
      expect_as_new_wrapper(meetings, "two again", thread - 1, 2, replica, after);
    }
  });
}

TEST(ReducerRebind, TrainsLikeANewWrapperWithTheSameState) {
  for (const auto kind : {Kind::kAllReduce, Kind::kFloat16, Kind::kBFloat16, Kind::kByteGrad,
                          Kind::kPowerSgd, Kind::kQAdam}) {
    expect_continues(rebind_options(kind));
  }
}

TEST(ReducerRebind, KeepsTheFormsOfTheReducer) {
  ReducerOptions options = small_buckets();
  options.static_graph = true;
  expect_continues(options);
  options.static_graph = false;
  options.find_unused_parameters = true;
  expect_continues(options);
  options.find_unused_parameters = false;
  options.gradient_as_bucket_view = true;
  options.buffer_mode = ReducerOptions::kBeforeForward;
  expect_continues(options);
}

TEST(ReducerRebind, ARankThatJoinsAsTheFirstGetsTheOthersValues) {
  on_threads(2, [](int64_t thread, const Meetings& meetings) {
    Replica replica(small_buckets(), thread == 0 ? 1 : 5);
    const at::Tensor expected = Replica(small_buckets()).model.first;
    if (thread == 0) {
      const Group alone = meetings.join("alone", 0, 1);
      replica.wrap(meetings, "alone", *alone);
    }
    const Group both = meetings.join("both", 1 - thread, 2);
    if (thread == 0) {
      replica.rebind(meetings, "both", *both);
    } else {
      replica.wrap(meetings, "both", *both);
    }
    EXPECT_TRUE(at::equal(replica.model.first, expected));
    EXPECT_EQ(replica.model.mean[0].item<float>(), 1);
  });
}

TEST(ReducerRebind, AnExchangeWaitsWhileItsRankIsAlone) {
  on_threads(2, [](int64_t thread, const Meetings& meetings) {
    Replica replica(rebind_options(Kind::kPowerSgd));
    const Group two = meetings.join("two", thread, 2);
    replica.wrap(meetings, "two", *two);
    replica.train(thread, 3);
    if (thread == 0) {
      const Group alone = meetings.join("alone", 0, 1);
      replica.rebind(meetings, "alone", *alone);
      replica.train(0, 2);
    } else {
      replica.reducer.reset();
    }
    const Group again = meetings.join("again", thread, 2);
    if (thread == 0) {
      replica.rebind(meetings, "again", *again);
    } else {
      replica.wrap(meetings, "again", *again);
    }
    EXPECT_EQ(replica.reducer->state().exchange_steps, 3);
    replica.train(thread, 2);
    EXPECT_EQ(replica.reducer->state().exchange_steps, 5);
    EXPECT_EQ(replica.reducer->reductions(), thread == 0 ? 7 : 2);
  });
}

TEST(ReducerRebind, ALostGroupIsReplacedAfterTheFailedPass) {
  for (const auto kind : {Kind::kAllReduce, Kind::kPowerSgd}) {
    on_threads(3, [kind](int64_t thread, const Meetings& meetings) {
      Replica replica(rebind_options(kind));
      {
        const Group three = meetings.join("three", thread, 3);
        replica.wrap(meetings, "three", *three);
        replica.train(thread, 3);
        if (thread == 1) {
          three->abort();
          return;
        }
        EXPECT_THROW(replica.train(thread, 1), Error);
        EXPECT_NE(replica.reducer->failure(), "");
        three->abort();
      }
      const Group two = meetings.join("two", thread / 2, 2);
      replica.rebind(meetings, "two", *two);
      EXPECT_EQ(replica.reducer->failure(), "");
      replica.train(thread, 3);
      const auto all = two->all_gather(replica.model.first.detach())->result(0);
      EXPECT_TRUE(at::equal(all[0], all[1]));
    });
  }
}

TEST(ReducerRebind, IsRefusedInTheMiddleOfAStep) {
  const Group group = ProcessGroup::adopt(0, 0, 1);
  const Group next = ProcessGroup::adopt(0, 0, 1);
  const Model model;
  const auto reducer = model.reduce(*group);
  bool was_refused = false;
  const at::Tensor loss = model.loss(rows(0, 3)) * 1;
  loss.register_hook([&](const at::Tensor& gradient) {
    expect_error(ErrorCode::kIllegalState, "but one is in progress",
                 [&] { reducer->rebind(*next); });
    was_refused = true;
    return gradient;
  });
  reducer->backward(loss);
  EXPECT_TRUE(was_refused);
  reducer->set_synchronized(false);
  expect_error(ErrorCode::kIllegalState, "outside of noSync", [&] { reducer->rebind(*next); });
  reducer->backward(model.loss(rows(0, 3)));
  reducer->set_synchronized(true);
  expect_error(ErrorCode::kIllegalState, "gradients have been accumulated",
               [&] { reducer->rebind(*next); });
  reducer->backward(model.loss(rows(0, 3)));
  reducer->begin_uneven_inputs(1, false);
  expect_error(ErrorCode::kIllegalState, "outside of uneven inputs",
               [&] { reducer->rebind(*next); });
  reducer->backward(model.loss(rows(0, 3)));
  reducer->end_uneven_inputs();
  reducer->rebind(*next);
}

TEST(ReducerRebind, ARefusedGroupChangesNothing) {
  on_threads(2, [](int64_t thread, const Meetings& meetings) {
    Replica replica(rebind_options(Kind::kQAdam));
    const Group two = meetings.join("two", thread, 2);
    replica.wrap(meetings, "two", *two);
    const Group alone = meetings.join("alone", 0, 1);
    expect_error(ErrorCode::kInvalidArgument, "a group of 2 ranks cannot be changed for one of 1",
                 [&] { replica.reducer->rebind(*alone); });
    const Group aborted = meetings.join("aborted", thread, 2);
    (void)two->barrier();  // so that both have connected
    aborted->abort();
    expect_error(ErrorCode::kIllegalState, "", [&] { replica.reducer->rebind(*aborted); });
    const Group other = meetings.join("other", thread, 2);
    const Model wider(kHidden + static_cast<int64_t>(thread));
    if (thread == 0) {
      expect_error(ErrorCode::kInvalidArgument, "first difference",
                   [&] { replica.reducer->rebind(*other); });
    } else {
      expect_error(ErrorCode::kInvalidArgument, "first difference",
                   [&] { (void)wider.reduce(*other, replica.options); });
    }
    replica.train(thread, 2);
    EXPECT_EQ(replica.reducer->reductions(), 2);
  });
}

}  // namespace
}  // namespace torchfeed::testing
