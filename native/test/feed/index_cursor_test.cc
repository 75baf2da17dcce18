// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/index_cursor.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <torch/data/samplers/distributed.h>
#include <torch/data/samplers/random.h>
#include <torch/utils.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "feed/row_sets.h"
#include "golden_folder.h"
#include "torchfeed/error.h"
#include "torchfeed/runtime.h"

namespace torchfeed {
namespace {

using testing::expect_refused;
using testing::Indices;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Indices read(IndexCursor& cursor, int64_t count) {
  Indices indices(static_cast<size_t>(count));
  indices.resize(static_cast<size_t>(cursor.read(indices.data(), count)));
  return indices;
}

Indices rest_of(IndexCursor& cursor) { return read(cursor, cursor.remaining()); }

Indices random_rank(int64_t n, int64_t world_size, int64_t rank, bool pad, int64_t epoch) {
  return rest_of(*IndexCursor::distributed_random(n, world_size, rank, pad, epoch));
}

Indices sequential_rank(int64_t n, int64_t world_size, int64_t rank, bool pad) {
  return rest_of(*IndexCursor::distributed_sequential(n, world_size, rank, pad));
}

int64_t hash_of(const Indices& indices) {
  uint64_t hash = 0;
  for (const int64_t index : indices) {
    hash = 31 * hash + static_cast<uint64_t>(index);
  }
  return static_cast<int64_t>(hash);
}

/// One line of the golden file; golden/libtorch_samplers.cc describes the format.
class Pass {
 public:
  explicit Pass(const std::string& line) {
    std::istringstream words(line);
    words >> name_;
    for (std::string word; words >> word;) {
      const size_t sign = word.find('=');
      fields_[word.substr(0, sign)] = word.substr(sign + 1);
    }
  }

  [[nodiscard]] int64_t number(const std::string& key) const { return std::stoll(fields_.at(key)); }

  [[nodiscard]] Indices list(const std::string& key) const {
    Indices values;
    std::istringstream words(fields_.at(key));
    for (std::string word; std::getline(words, word, ',');) {
      values.push_back(std::stoll(word));
    }
    return values;
  }

  [[nodiscard]] std::map<int64_t, std::pair<int64_t, int64_t>> batches() const {
    std::map<int64_t, std::pair<int64_t, int64_t>> batches;
    std::istringstream words(fields_.at("batches"));
    for (std::string word; std::getline(words, word, ',');) {
      const size_t colon = word.find(':');
      const size_t plus = word.find('+');
      batches[std::stoll(word)] = {std::stoll(word.substr(colon + 1)),
                                   std::stoll(word.substr(plus + 1))};
    }
    return batches;
  }

  [[nodiscard]] std::unique_ptr<IndexCursor> open() const {
    const int64_t n = number("n");
    if (name_ == "SequentialSampler") {
      return IndexCursor::sequential(n);
    }
    if (name_ == "RandomSampler") {
      return IndexCursor::random(n, number("seed"), number("epoch"));
    }
    const bool pad = number("pad") != 0;
    if (name_ == "DistributedSequentialSampler") {
      return IndexCursor::distributed_sequential(n, number("worldSize"), number("rank"), pad);
    }
    return IndexCursor::distributed_random(n, number("worldSize"), number("rank"), pad,
                                           number("epoch"));
  }

 private:
  std::string name_;
  std::map<std::string, std::string> fields_;
};

void expect_same_batches(IndexCursor& cursor, const Pass& pass, const Indices& all) {
  for (const auto& [batch_size, expected] : pass.batches()) {
    cursor.seek(0);
    Indices joined;
    int64_t full = 0;
    int64_t rest = 0;
    for (Indices batch; !(batch = read(cursor, batch_size)).empty();) {
      static_cast<int64_t>(batch.size()) == batch_size ? ++full
                                                       : rest = static_cast<int64_t>(batch.size());
      joined.insert(joined.end(), batch.begin(), batch.end());
    }
    EXPECT_EQ(joined, all);
    EXPECT_EQ(std::make_pair(full, rest), expected);
  }
}

void expect_same_indices(const Pass& pass, const Indices& actual) {
  ASSERT_EQ(static_cast<int64_t>(actual.size()), pass.number("count"));
  Indices head = pass.list("head");
  if (pass.number("overflow") != 0) {
    ASSERT_EQ(head.size(), actual.size());
    for (int64_t& index : head) {
      index %= pass.number("n");
    }
  } else {
    EXPECT_EQ(hash_of(actual), pass.number("hash"));
  }
  const Indices tail = pass.list("tail");
  EXPECT_TRUE(std::equal(head.begin(), head.end(), actual.begin()));
  EXPECT_TRUE(std::equal(tail.rbegin(), tail.rend(), actual.rbegin()));
}

TEST(IndexCursor, MatchesLibtorchsIndicesAndBatchesOverTheWholeGrid) {
  std::ifstream file(testing::golden_folder() / "libtorch_samplers.txt");
  std::string line;
  ASSERT_TRUE(std::getline(file, line) && line.starts_with("# program "));
  int64_t passes = 0;
  for (; std::getline(file, line); ++passes) {
    SCOPED_TRACE(line);
    const Pass pass(line);
    const auto cursor = pass.open();
    EXPECT_EQ(cursor->remaining(), pass.number("count"));
    const Indices all = rest_of(*cursor);
    ASSERT_NO_FATAL_FAILURE(expect_same_indices(pass, all));
    expect_same_batches(*cursor, pass, all);
    if (HasFailure()) {
      return;
    }
  }
  EXPECT_GT(passes, 3000);
}

TEST(IndexCursor, MatchesThePublishedVectors) {
  EXPECT_EQ(random_rank(10, 1, 0, true, 0), (Indices{0, 2, 1, 5, 9, 8, 4, 7, 6, 3}));
  EXPECT_EQ(random_rank(10, 1, 0, true, 3), (Indices{3, 1, 8, 5, 2, 6, 9, 7, 0, 4}));
  EXPECT_EQ(random_rank(11, 1, 0, true, 0), (Indices{10, 4, 6, 0, 5, 1, 9, 3, 7, 8, 2}));
  EXPECT_EQ(random_rank(10, 3, 2, true, 1), (Indices{1, 8, 0, 7}));
  EXPECT_EQ(random_rank(10, 3, 1, false, 0), (Indices{0, 5, 1}));
  EXPECT_EQ(random_rank(10, 4, 3, true, 0), (Indices{0, 3, 8}));
  EXPECT_EQ(hash_of(random_rank(65535, 1, 0, true, 0)), 2957524896421921189);
  EXPECT_EQ(hash_of(random_rank(65536, 1, 0, true, 0)), 8176306639881115230);
  EXPECT_EQ(hash_of(random_rank(70000, 1, 0, true, 0)), 7630271839221228120);
  EXPECT_EQ(sequential_rank(10, 3, 2, true), (Indices{8, 9, 0, 1}));
  EXPECT_EQ(sequential_rank(10, 3, 2, false), (Indices{6, 7, 8}));
  EXPECT_EQ(rest_of(*IndexCursor::random(10, 0, 0)), (Indices{4, 1, 7, 5, 3, 9, 0, 8, 6, 2}));
  EXPECT_EQ(rest_of(*IndexCursor::random(10, 1, 41)), (Indices{2, 6, 1, 8, 4, 5, 0, 9, 3, 7}));
}

TEST(IndexCursor, WrapsPaddingBeyondTheDataset) {
  for (int64_t rank = 0; rank < 5; ++rank) {
    EXPECT_EQ(sequential_rank(2, 5, rank, true), Indices{rank % 2});
    EXPECT_LT(random_rank(2, 5, rank, true, 0).at(0), 2);
    EXPECT_EQ(random_rank(1, 5, rank, true, 0), Indices{0});
  }
}

TEST(IndexCursor, StillNeedsToWrapPaddingForLibtorch) {
  torch::data::samplers::DistributedRandomSampler sampler(1, 3, 0);
  EXPECT_EQ(sampler.next(1)->at(0), 1U) << "fixed upstream: WrappingCursor can go";
}

TEST(IndexCursor, MatchesARandomSamplerCreatedRightAfterSettingTheSeed) {
  torch::manual_seed(1234 + 7);
  torch::data::samplers::RandomSampler sampler(5000);
  const auto expected = sampler.next(5000);
  const Indices actual = rest_of(*IndexCursor::random(5000, 1234, 7));
  EXPECT_TRUE(std::equal(actual.begin(), actual.end(), expected->begin(), expected->end()));
}

TEST(IndexCursor, DoesNotTouchTheGlobalGenerator) {
  torch::manual_seed(99);
  const auto before = at::detail::getDefaultCPUGenerator().get_state();
  rest_of(*IndexCursor::random(1000, 99, 0));
  EXPECT_TRUE(at::equal(before, at::detail::getDefaultCPUGenerator().get_state()));
  torch::manual_seed(5);
  EXPECT_EQ(rest_of(*IndexCursor::random(10, 0, 0)).front(), 4);
}

TEST(IndexCursor, SeeksToEveryOffsetInBothDirections) {
  const auto check = [](IndexCursor& cursor) {
    const int64_t size = cursor.remaining();
    const Indices all = rest_of(cursor);
    for (int64_t offset : {size, int64_t{0}, size / 2, int64_t{1}, size - 1}) {
      cursor.seek(offset);
      EXPECT_EQ(cursor.offset(), offset);
      EXPECT_EQ(rest_of(cursor), Indices(all.begin() + offset, all.end()));
      EXPECT_EQ(cursor.offset(), size);
    }
    EXPECT_THROW(cursor.seek(-1), Error);
    EXPECT_THROW(cursor.seek(size + 1), Error);
  };
  check(*IndexCursor::sequential(20001));
  check(*IndexCursor::random(20001, 3, 1));
  check(*IndexCursor::distributed_random(20001, 2, 1, true, 4));
  check(*IndexCursor::distributed_sequential(20001, 2, 1, true));
}

TEST(IndexCursor, ReadsSequencesTooLongForMemory) {
  const auto sequential = IndexCursor::sequential(kMax);
  sequential->seek(kMax - 2);
  EXPECT_EQ(read(*sequential, 5), (Indices{kMax - 2, kMax - 1}));
  const auto last = IndexCursor::distributed_sequential(kMax, 1 << 30, (1 << 30) - 1, true);
  EXPECT_EQ(last->remaining(), int64_t{1} << 33);
  last->seek(last->remaining() - 2);
  EXPECT_EQ(read(*last, 5), (Indices{kMax - 1, 0}));
}

TEST(IndexCursor, IsEmptyForAnEmptyDataset) {
  for (const bool pad : {true, false}) {
    const auto cursor = IndexCursor::distributed_random(0, 3, 2, pad, 0);
    EXPECT_EQ(cursor->remaining(), 0);
    EXPECT_EQ(cursor->read(cursor->window(), cursor->window_length()), 0);
    EXPECT_EQ(read(*cursor, 3), Indices{});
    EXPECT_EQ(sequential_rank(0, 3, 2, pad), Indices{});
  }
  EXPECT_EQ(rest_of(*IndexCursor::random(0, 0, 0)), Indices{});
  EXPECT_EQ(rest_of(*IndexCursor::sequential(0)), Indices{});
}

TEST(IndexCursor, ReadsThroughItsOwnWindow) {
  const auto cursor = IndexCursor::random(20000, 0, 0);
  const Indices all = rest_of(*cursor);
  cursor->seek(100);
  const int64_t length = cursor->window_length();
  EXPECT_EQ(cursor->read(cursor->window(), length), length);
  EXPECT_TRUE(std::equal(cursor->window(), cursor->window() + length, all.begin() + 100));
}

TEST(IndexCursor, RefusesArgumentsThatWouldCrashTheSampler) {
  const int64_t much = int64_t{1} << 60;
  expect_refused("Invalid rank 3, rank should be in the interval [0, 2]",
                 [] { (void)IndexCursor::distributed_random(10, 3, 3, true, 0); });
  expect_refused("Invalid rank -1", [] { (void)IndexCursor::distributed_sequential(9, 3, -1, 1); });
  expect_refused("world size", [] { (void)IndexCursor::distributed_random(10, 0, 0, true, 0); });
  expect_refused("dataset size", [] { (void)IndexCursor::distributed_sequential(-1, 1, 0, true); });
  expect_refused("epoch", [] { (void)IndexCursor::distributed_random(10, 1, 0, true, -1); });
  expect_refused("too long", [=] { (void)IndexCursor::distributed_random(much, 1, 0, true, 0); });
  expect_refused("too long", [] { (void)IndexCursor::distributed_random(1, kMax, 0, true, 0); });
  expect_refused("too long", [=] { (void)IndexCursor::random(much, 0, 0); });
  expect_refused("dataset size", [] { (void)IndexCursor::random(-1, 0, 0); });
  expect_refused("epoch", [] { (void)IndexCursor::random(1, 0, -1); });
  expect_refused("dataset size", [] { (void)IndexCursor::sequential(-1); });
  expect_refused("indices to read", [] { IndexCursor::sequential(1)->read(nullptr, -1); });
}

TEST(IndexCursor, CountsOpenCursors) {
  const int64_t before = live_objects();
  {
    const auto one = IndexCursor::sequential(3);
    const auto two = IndexCursor::distributed_random(3, 1, 0, true, 0);
    EXPECT_EQ(live_objects(), before + 2);
    EXPECT_THROW((void)IndexCursor::sequential(-1), Error);
  }
  EXPECT_EQ(live_objects(), before);
}

}  // namespace
}  // namespace torchfeed
