// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "group/gloo_threads.h"
#include "group/rank_threads.h"
#include "torchfeed/runtime.h"

namespace torchfeed {
namespace {

using testing::expect_error;
using testing::on_gloo;

constexpr int32_t kOps = 8;
constexpr int32_t kMean = 1;
constexpr int32_t kUncheckedMode = 0;
constexpr int32_t kUncheckedAsync = ProcessGroup::kAsynchronous;

const std::vector<at::ScalarType> kReducible = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16,
                                                at::kChar,  at::kByte,   at::kInt,  at::kLong};

bool supports(int32_t op, at::ScalarType type) {
  return op < 5 ? op != kMean || c10::isFloatingType(type) : c10::isIntegralType(type, false);
}

/// Values of a rank that every dtype holds exactly, as well as their sums and products.
at::Tensor values(int64_t rank, at::IntArrayRef shape, at::ScalarType type) {
  at::Tensor values = at::arange(c10::multiply_integers(shape), at::kLong);
  return ((values + rank) % 3 + 1).to(type).reshape(shape);
}

/// The combination of the ranks' values, computed without a group.
at::Tensor reduced(const std::vector<at::Tensor>& all, int32_t op) {
  at::Tensor result = all[0].clone();
  for (size_t i = 1; i < all.size(); ++i) {
    switch (op) {
      case 2:
        result = result * all[i];
        break;
      case 3:
        result = at::minimum(result, all[i]);
        break;
      case 4:
        result = at::maximum(result, all[i]);
        break;
      case 5:
        result = at::bitwise_and(result, all[i]);
        break;
      case 6:
        result = at::bitwise_or(result, all[i]);
        break;
      case 7:
        result = at::bitwise_xor(result, all[i]);
        break;
      default:
        result = result + all[i];
    }
  }
  return op == kMean ? result / static_cast<int64_t>(all.size()) : result;
}

std::vector<at::Tensor> of_all(int64_t ranks, at::IntArrayRef shape, at::ScalarType type) {
  std::vector<at::Tensor> all;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    all.push_back(values(rank, shape, type));
  }
  return all;
}

void expect_equal(const at::Tensor& expected, const at::Tensor& got, const std::string& what) {
  EXPECT_TRUE(at::equal(expected, got)) << what << ": expected " << expected << " got " << got;
}

const std::vector<std::vector<int64_t>> kShapes = {{}, {0}, {5}, {2, 3}};

/// The number of ranks, and whether they send as Python's do.
class CollectivesOfRanks : public ::testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  static void on_ranks(const testing::Body& body) {
    const auto [ranks, has_python_ranks] = GetParam();
    on_gloo(ranks, body, 60'000, has_python_ranks);
  }
};

INSTANTIATE_TEST_SUITE_P(Sizes, CollectivesOfRanks,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4), ::testing::Bool()));

TEST_P(CollectivesOfRanks, ReductionsOfAllDtypesEqualALocalReference) {
  on_ranks([](ProcessGroup& group) {
    const auto ranks = group.world_size();
    for (const auto type : kReducible) {
      for (int32_t op = 0; op < kOps; ++op) {
        if (!supports(op, type)) {
          continue;
        }
        for (const auto& shape : kShapes) {
          const std::string what = std::string(c10::toString(type)) + " op " + std::to_string(op);
          const at::Tensor mine = values(group.rank(), shape, type);
          const at::Tensor expected = reduced(of_all(ranks, shape, type), op);
          at::Tensor everywhere = mine.clone();
          group.all_reduce(everywhere, op, kUncheckedMode);
          expect_equal(expected, everywhere, what);
          at::Tensor at_root = mine.clone();
          group.reduce(at_root, op, ranks - 1, kUncheckedMode);
          expect_equal(group.rank() == ranks - 1 ? expected : mine, at_root, what);
          at::Tensor part = at::empty(shape, type);
          const auto input = at::stack(std::vector<at::Tensor>(static_cast<size_t>(ranks), mine));
          group.reduce_scatter(part, input, op, kUncheckedMode);
          expect_equal(expected, part, what);
        }
      }
    }
  });
}

TEST_P(CollectivesOfRanks, ValuesOfAnyDtypeAreMovedUnchanged) {
  on_ranks([](ProcessGroup& group) {
    const auto ranks = group.world_size();
    const auto rank = group.rank();
    for (const auto type : {at::kFloat, at::kShort, at::kBool, at::kComplexFloat, at::kBFloat16}) {
      for (const auto& shape : kShapes) {
        const at::Tensor mine = values(rank, shape, type);
        const at::Tensor all = at::stack(of_all(ranks, shape, type));
        expect_equal(all, group.all_gather(mine)->result(0), "all-gather");
        at::Tensor into = at::empty(all.sizes(), type);
        group.all_gather_into(into, mine);
        expect_equal(all, into, "all-gather into");
        at::Tensor sent = mine.clone();
        group.broadcast(sent, ranks - 1);
        expect_equal(all[ranks - 1], sent, "broadcast");
        const auto gathered = group.gather(mine, 0);
        EXPECT_EQ(rank == 0, gathered != nullptr);
        if (gathered) {
          expect_equal(all, gathered->result(0), "gather");
        }
        at::Tensor part = at::empty(shape, type);
        const bool is_root = rank == ranks - 1;
        group.scatter(part, is_root ? all.unbind(0) : std::vector<at::Tensor>{}, ranks - 1);
        expect_equal(mine, part, "scatter");
      }
    }
  });
}

TEST_P(CollectivesOfRanks, StridedTensorsAreReadAndWrittenInPlace) {
  on_ranks([](ProcessGroup& group) {
    const auto ranks = group.world_size();
    const auto rank = static_cast<double>(group.rank());
    const auto strided = [&] { return at::full({2, 3}, rank, at::kFloat).t(); };
    const double sum = static_cast<double>(ranks * (ranks - 1)) / 2;
    at::Tensor tensor = strided();
    group.all_reduce(tensor, 0);
    expect_equal(at::full({3, 2}, sum), tensor, "all-reduce");
    tensor = strided();
    group.broadcast(tensor, ranks - 1);
    expect_equal(at::full({3, 2}, static_cast<double>(ranks - 1)), tensor, "broadcast");
    tensor = at::empty({2, 3 * ranks}).t();
    group.all_gather_into(tensor, strided());
    EXPECT_EQ(rank, tensor[3 * group.rank()][1].item<double>());
    tensor = at::empty({3, ranks}).t();
    group.all_to_all_single(tensor, at::full({3, ranks}, rank).t(), nullptr, nullptr);
    EXPECT_EQ(static_cast<double>(ranks - 1), tensor[ranks - 1][0].item<double>());
  });
}

TEST_P(CollectivesOfRanks, CoalescedFormsEqualSingleOnes) {
  on_ranks([](ProcessGroup& group) {
    const auto ranks = group.world_size();
    const auto rank = group.rank();
    const std::vector<at::Tensor> mine = {values(rank, {2, 3}, at::kFloat).t(),
                                          values(rank, {0}, at::kFloat),
                                          values(rank, {4}, at::kFloat)};
    std::vector<at::Tensor> sums = {mine[0].clone(), mine[1].clone(), mine[2].clone()};
    group.all_reduce_coalesced(sums, 0);
    expect_equal(reduced(of_all(ranks, {2, 3}, at::kFloat), 0).t(), sums[0], "first");
    expect_equal(reduced(of_all(ranks, {4}, at::kFloat), 0), sums[2], "third");
    const auto gathered = group.all_gather_coalesced({mine[0], values(rank, {2}, at::kLong)});
    EXPECT_EQ(2, gathered->results());
    expect_equal(at::stack(of_all(ranks, {2, 3}, at::kFloat)).transpose(1, 2), gathered->result(0),
                 "floats");
    expect_equal(at::stack(of_all(ranks, {2}, at::kLong)), gathered->result(1), "longs");
    std::vector<at::Tensor> parts = {at::empty({2}), at::empty({1, 3})};
    const at::Tensor first = at::arange(2 * ranks, at::kFloat) + rank;
    const at::Tensor second = at::arange(3 * ranks, at::kFloat).view({ranks, 3}) * 2;
    group.reduce_scatter_coalesced(parts, {first, second}, 4);
    expect_equal(first.narrow(0, 2 * rank, 2) - rank + (ranks - 1), parts[0], "maxima");
    expect_equal(second.narrow(0, rank, 1), parts[1], "maxima of equal values");
  });
}

TEST_P(CollectivesOfRanks, AllToAllMovesEvenAndUnevenRows) {
  on_ranks([](ProcessGroup& group) {
    const auto ranks = group.world_size();
    const auto rank = group.rank();
    at::Tensor even = at::empty({ranks, 2}, at::kLong);
    const at::Tensor targets = at::arange(ranks, at::kLong).unsqueeze(1).repeat({1, 2});
    group.all_to_all_single(even, targets + 10 * rank, nullptr, nullptr);
    expect_equal(at::full({ranks, 2}, rank, at::kLong) + 10 * targets, even, "even");
    // Rank r sends r + i rows, each of value r, to rank i: rank 0 sends none to itself.
    std::vector<int64_t> rows(static_cast<size_t>(ranks));
    std::iota(rows.begin(), rows.end(), rank);
    const auto total = std::accumulate(rows.begin(), rows.end(), int64_t{0});
    at::Tensor output = at::empty({total, 3});
    group.all_to_all_single(output, at::full({total, 3}, rank, at::kFloat), rows.data(),
                            rows.data());
    std::vector<at::Tensor> expected;
    for (int64_t other = 0; other < ranks; ++other) {
      expected.push_back(at::full({rank + other, 3}, other, at::kFloat));
    }
    expect_equal(at::cat(expected), output, "uneven");
    std::vector<at::Tensor> outputs;
    std::vector<at::Tensor> inputs;
    for (int64_t other = 0; other < ranks; ++other) {
      outputs.push_back(at::empty({3, rank + other}).t());
      inputs.push_back(at::full({rank + other, 3}, rank, at::kFloat));
    }
    group.all_to_all(outputs, inputs);
    expect_equal(expected.back(), outputs.back(), "list");
    at::Tensor nothing = at::empty({0, 3});
    group.all_to_all_single(nothing, nothing.clone(), nullptr, nullptr);
  });
}

TEST_P(CollectivesOfRanks, BytesMayDifferInLength) {
  on_ranks([](ProcessGroup& group) {
    const auto mine = at::full({group.rank()}, group.rank(), at::kByte);
    const auto all = group.all_gather_bytes(mine);
    for (int64_t rank = 0; rank < group.world_size(); ++rank) {
      expect_equal(at::full({rank}, rank, at::kByte), all->result(rank), "bytes");
    }
    const auto last = group.world_size() - 1;
    expect_equal(at::full({last}, last, at::kByte), group.broadcast_bytes(mine, last)->result(0),
                 "broadcast");
    EXPECT_EQ(0, group.broadcast_bytes(mine, 0)->result(0).numel());
  });
}

TEST(Collectives, MessagesOfATagArriveInOrderAndTagsOvertake) {
  on_gloo(2, [](ProcessGroup& group) {
    const auto peer = 1 - group.rank();
    for (const int32_t checked : {0, 1}) {
      if (group.rank() == 0) {
        std::vector<std::unique_ptr<Work>> works;
        for (int64_t i = 0; i < 20; ++i) {
          works.push_back(group.send(at::full({3}, i, at::kLong), peer, i % 2, checked | 2));
        }
        for (auto& work : works) {
          work->await(-1);
        }
      } else {
        for (const int64_t parity : {1, 0}) {
          for (int64_t i = parity; i < 20; i += 2) {
            at::Tensor got = at::empty({3}, at::kLong);
            group.receive(got, peer, parity, checked);
            expect_equal(at::full({3}, i, at::kLong), got, "message");
          }
        }
      }
      at::Tensor got = at::empty({0});
      const auto receiving = group.receive(got, peer, 7, checked | 2);
      group.send(at::empty({0}), peer, 7, checked);  // without values
      receiving->await(-1);
    }
  });
}

TEST(Collectives, AMessageOfAnotherShapeIsRefusedAndTheNextOneArrives) {
  on_gloo(2, [](ProcessGroup& group) {
    if (group.rank() == 0) {
      group.send(at::ones({3}), 1, 0);
      group.send(at::full({2}, 5.), 1, 0);
    } else {
      at::Tensor got = at::empty({2});
      expect_error(ErrorCode::kInvalidArgument,
                   "rank 0 makes a send of Float [3], this rank expects a send of Float [2]",
                   [&] { group.receive(got, 0, 0); });
      group.receive(got, 0, 0);
      expect_equal(at::full({2}, 5.), got, "the next message");
    }
  });
}

TEST(Collectives, AsynchronousCallsRunInTheirOrderAndKeepTheirTensors) {
  on_gloo(3, [](ProcessGroup& group) {
    for (const int32_t mode : {kUncheckedAsync, kUncheckedAsync | ProcessGroup::kChecked}) {
      std::vector<std::unique_ptr<Work>> works;
      std::vector<at::Tensor> tensors;
      for (int i = 0; i < 50; ++i) {
        tensors.push_back(at::full({1 + i}, i, at::kLong));
        works.push_back(i % 2 == 0 ? group.all_reduce(tensors.back(), 0, mode)
                                   : group.all_gather(tensors.back().clone(), mode));
      }
      at::Tensor last = at::ones({1});
      group.all_reduce(last, 0);  // runs after all of them
      for (int i = 0; i < 50; ++i) {
        const auto& work = works[static_cast<size_t>(i)];
        EXPECT_TRUE(work->await(-1));
        EXPECT_TRUE(work->is_done());
        if (i % 2 == 0) {
          expect_equal(at::full({1 + i}, 3 * i, at::kLong), tensors[static_cast<size_t>(i)], "sum");
        } else {
          expect_equal(at::full({3, 1 + i}, i, at::kLong), work->result(0), "all");
        }
      }
      works.push_back(group.all_gather(at::ones({2}), mode));
      works.clear();  // continues without its work
    }
    group.barrier();
  });
}

TEST(Collectives, DifferentCallsAreRefusedOnEveryRank) {
  on_gloo(2, [](ProcessGroup& group) {
    const auto rank = group.rank();
    const auto refused = [&](const std::string& part, const std::function<void()>& call) {
      expect_error(ErrorCode::kInvalidArgument, part, call);
    };
    at::Tensor tensor = at::ones({2 + rank});
    refused(
        "rank 0 calls reduce (sum) to rank 0 of Float [2], rank 1 calls reduce (sum) to rank 0 "
        "of Float [3]",
        [&] { group.reduce(tensor, 0, 0); });
    refused("rank 1 calls all-reduce (bitwise or)",
            [&] { group.all_reduce(at::ones({1}, at::kLong), 5 + static_cast<int32_t>(rank)); });
    refused("all-gather of Float [2] and 1 more",
            [&] { group.all_gather_coalesced({at::ones({2}), tensor}); });
    refused("rank 0 sends 4 bytes to rank 1, which expects 8", [&] {
      const std::vector<int64_t> rows = {2, 1};
      const std::vector<int64_t> wrong = {1, 2};
      at::Tensor output = at::empty({3});
      group.all_to_all_single(output, at::ones({3}), rows.data(),
                              rank == 0 ? rows.data() : wrong.data());
    });
    refused(rank == 0 ? "cannot be divided among 2 ranks" : "rank 0 rejected its own arguments",
            [&] {
              at::Tensor output = at::empty({4});
              group.all_to_all_single(output, at::ones({3 + rank}), nullptr, nullptr);
            });
    expect_error(ErrorCode::kInvalidArgument, "all ranks must make the same call", [&] {
      group.all_reduce(tensor, 0, ProcessGroup::kChecked | ProcessGroup::kAsynchronous)->await(-1);
    });
    group.barrier();
  });
}

TEST(Collectives, InvalidArgumentsAreRefused) {
  on_gloo(1, [](ProcessGroup& group) {
    const auto refused = [&](const std::string& part, const std::function<void()>& call) {
      expect_error(ErrorCode::kInvalidArgument, part, call);
    };
    const at::Tensor one = at::ones({1});
    refused("a bitwise reduction needs an integer dtype, got Float",
            [&] { group.all_reduce(one, 5); });
    refused("at least one tensor is needed", [&] { group.all_reduce_coalesced({}, 0); });
    refused("one dtype, got Float and Long",
            [&] { group.all_reduce_coalesced({one, at::ones({1}, at::kLong)}, 0); });
    refused("must pass 1 inputs", [&] { group.scatter(one, {}, 0); });
    refused("the shape of the output", [&] { group.scatter(one, {at::ones({2})}, 0); });
    refused("one output for each of 1 ranks", [&] { group.reduce_scatter(one, at::ones({2}), 0); });
    refused("one tensor for each of 1 ranks", [&] { group.all_to_all({one}, {one, one}); });
    refused("sum of its splits", [&] {
      const int64_t rows = 2;
      group.all_to_all_single(one, one, &rows, &rows);
    });
    refused("got a scalar",
            [&] { group.all_to_all_single(at::ones({}), at::ones({}), nullptr, nullptr); });
    refused("rank 0 sends 4 bytes to rank 0, which expects 8",
            [&] { group.all_to_all({at::ones({2})}, {one}); });
    refused("another rank than this one", [&] { group.send(one, 0, 0); });
    refused("source must be in [0, 1)", [&] { group.receive(one, 1, 0); });
  });
  on_gloo(2, [](ProcessGroup& group) {
    group.barrier();  // a rank that left at once would fail one that is still being connected
    expect_error(ErrorCode::kInvalidArgument, "tag must be in [0, 268435456), got -1",
                 [&] { group.send(at::ones({1}), 1 - group.rank(), -1); });
  });
}

TEST(Collectives, NothingIsLeftAlive) {
  const auto before = live_objects();
  on_gloo(2, [](ProcessGroup& group) {
    at::Tensor tensor = at::ones({4});
    group.all_reduce(tensor, 0, kUncheckedAsync)->await(-1);
    group.all_gather(tensor, kUncheckedAsync);
    group.barrier();
  });
  EXPECT_EQ(before, live_objects());
}

}  // namespace
}  // namespace torchfeed
