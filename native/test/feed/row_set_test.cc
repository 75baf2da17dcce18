// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/row_set.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/rows/row_table.h"
#include "core/rows/transformed_column.h"
#include "feed/feed_batches.h"
#include "feed/row_files.h"
#include "feed/row_sets.h"
#include "torch/feed/row_tables.h"
#include "torchfeed/batch_feed.h"
#include "torchfeed/error.h"
#include "torchfeed/row_reader.h"
#include "torchfeed/runtime.h"
#include "torchfeed/slab.h"

namespace torchfeed {
namespace {

using testing::all;
using testing::counted;
using testing::expect_refused;
using testing::Indices;
using testing::prototypes_of;
using testing::read;
using testing::RowSets;
using testing::Sets;
using testing::subset;

TEST_F(RowSets, ASubsetHasItsRowsInItsOrder) {
  const auto set = counted(100, 10);
  const auto some = subset(*set, {7, 7, 2, 9});
  EXPECT_EQ(some->rows(), 4);
  EXPECT_EQ(RowTables::of(*some)->columns().size(), 2);
  EXPECT_EQ(all(*some), (Indices{107, 107, 102, 109}));
  EXPECT_EQ(read(*some, {3, 0}), (Indices{109, 107}));
  EXPECT_EQ(subset(*set, {})->rows(), 0);
}

TEST_F(RowSets, AConcatenationHasTheRowsOfItsPartsInAnyOrder) {
  const auto set = counted(0, 3)->concat(*counted(9, 0))->concat(*counted(10, 4));
  EXPECT_EQ(all(*set), (Indices{0, 1, 2, 10, 11, 12, 13}));
  EXPECT_EQ(read(*set, {6, 0, 3, 2, 6, 5, 1}), (Indices{13, 0, 10, 2, 13, 12, 1}));
  EXPECT_EQ(read(*set, {4}), (Indices{11}));
}

TEST_F(RowSets, ReadAsAModelDoesHoweverTheyAreNested) {
  std::vector<std::pair<Sets, Indices>> made;  // each with its numbers
  for (int64_t part = 0; part < 3; ++part) {
    Indices numbers(static_cast<size_t>(5 + part));
    std::iota(numbers.begin(), numbers.end(), 100 * part);
    made.emplace_back(counted(100 * part, 5 + part), std::move(numbers));
  }
  uint64_t random = 1;
  const auto next = [&](size_t limit) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return static_cast<size_t>((random >> 33) % limit);
  };
  for (int step = 0; step < 300; ++step) {
    const auto& [set, numbers] = made[next(made.size())];
    if (next(2) == 0) {
      Indices indices(next(12));
      Indices expected;
      for (int64_t& index : indices) {
        if (numbers.empty()) {
          indices.clear();
          break;
        }
        index = static_cast<int64_t>(next(numbers.size()));
        expected.push_back(numbers[static_cast<size_t>(index)]);
      }
      made.emplace_back(subset(*set, indices), std::move(expected));
    } else {
      const auto& [other, more] = made[next(made.size())];
      if (numbers.size() + more.size() > 60) {
        continue;
      }
      Indices expected = numbers;
      expected.insert(expected.end(), more.begin(), more.end());
      made.emplace_back(set->concat(*other), std::move(expected));
    }
    const auto& [result, expected] = made.back();
    ASSERT_EQ(result->rows(), static_cast<int64_t>(expected.size()));
    if (expected.empty()) {
      continue;
    }
    ASSERT_EQ(all(*result), expected) << "step " << step;
    const Indices some = {static_cast<int64_t>(expected.size()) - 1, 0,
                          static_cast<int64_t>(next(expected.size()))};
    ASSERT_EQ(read(*result, some),
              (Indices{expected.back(), expected.front(), expected[static_cast<size_t>(some[2])]}));
  }
}

TEST_F(RowSets, NestingOfOneKindIsAsDeepAsOne) {
  auto some = counted(0, 3);
  auto many = counted(0, 1);
  for (int i = 0; i < 100'000; ++i) {  // one call inside another each would overflow the stack
    some = subset(*some, {2, 0, 1});
  }
  for (int i = 0; i < 2000; ++i) {
    many = many->concat(*counted(i + 1, 1));
  }
  EXPECT_EQ(all(*some), (Indices{2, 0, 1}));  // 100,000 is 1 more than a multiple of 3
  EXPECT_EQ(read(*many, {2000, 0, 1234}), (Indices{2000, 0, 1234}));
}

TEST_F(RowSets, TooManyPartsAreRefused) {
  auto many = counted(0, 1);
  for (int i = 0; i < 20; ++i) {
    many = many->concat(*many);
  }
  EXPECT_EQ(read(*many, {(1 << 20) - 1, 0}), (Indices{0, 0}));
  expect_refused("must have at most 1048576 datasets, including its parts', got 2097152",
                 [&] { (void)many->concat(*many); });
}

TEST_F(RowSets, OutliveTheSetsTheyAreMadeOf) {
  auto set = counted(0, 5);
  auto both = subset(*set, {1, 2})->concat(*set);
  set.reset();
  auto feed = BatchFeed::create(*both, 3, 2, 1, true);
  both.reset();
  const Indices rows = {1, 6, 0};
  feed->request(0, rows.data(), 3);
  feed->start();
  EXPECT_TRUE(torch::equal(take(*feed, -1)[0], torch::tensor({2, 4, 1})));
}

TEST_F(RowSets, RefuseIndicesOutsideAndOtherColumns) {
  const auto set = counted(0, 5);
  expect_refused("indices must be in [0, 5), got 5",
                 [&] { EXPECT_EQ(subset(*set, {0, 5}), nullptr); });
  expect_refused("indices must be in [0, 5), got -1",
                 [&] { EXPECT_EQ(subset(*set, {-1}), nullptr); });
  const auto others = RowSet::of_tensors({torch::zeros({2, 3}), torch::zeros({2, 3})});
  expect_refused(
      "all datasets must have the columns of the first, [int64 [], int16 [3]], got "
      "[float32 [3], float32 [3]]",
      [&] { EXPECT_EQ(set->concat(*others), nullptr); });
  expect_refused("[int64 [], int16 [3]]", [&] {
    EXPECT_EQ(set->concat(*RowSet::of_tensors({torch::zeros({2}, torch::kInt64)})), nullptr);
  });
  expect_refused("at least one column", [&] { EXPECT_EQ(RowSet::of_tensors({}), nullptr); });
}

/// Rows in files; from `left` on they can no longer be read.
class CutFiles {
 public:
  CutFiles(const std::string& name, int64_t from, int64_t rows, int64_t left) {
    Indices numbers(static_cast<size_t>(rows));
    std::iota(numbers.begin(), numbers.end(), from);
    const std::string path = files_.write(name, numbers);
    const auto columns = FileColumns::create();
    columns->add_column(static_cast<int64_t>(at::kLong), nullptr, 0, 1);
    columns->add_file(path, 0, 8, rows);
    set_ = RowSet::of_files(*columns);
    std::filesystem::resize_file(path, static_cast<uintmax_t>(left) * 8);
  }

  [[nodiscard]] const RowSet& operator*() const { return *set_; }

 private:
  const RowFiles files_;
  Sets set_;
};

/// Returns the row for which a feed of one batch fails; -1 if it does not.
int64_t unreadable_row(const RowSet& set, const Indices& rows) {
  const auto feed = BatchFeed::create(set, 16, 1, 1, true);
  feed->request(0, rows.data(), static_cast<int64_t>(rows.size()));
  feed->start();
  try {
    take(*feed, -1);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnreadable) << error.what();
  }
  return feed->unreadable_row();
}

TEST_F(RowSets, ReportAnUnreadableRowAsTheCallerNumbersIt) {
  const CutFiles whole("whole", 0, 4, 4);
  const CutFiles cut("cut", 10, 4, 2);
  const auto both = (*whole).concat(*cut);
  EXPECT_EQ(unreadable_row(*both, {5, 0, 4}), -1);
  EXPECT_EQ(unreadable_row(*both, {5, 0, 7, 1}), 7);
  EXPECT_EQ(unreadable_row(*both, {3, 4, 5, 6}), 6) << "the third of a run";
  const auto some = subset(*both, {0, 7, 7, 1});
  EXPECT_EQ(unreadable_row(*some, {0, 3}), -1);
  EXPECT_EQ(unreadable_row(*some, {0, 3, 2}), 2) << "rather than 1, the same row of the file";
  EXPECT_EQ(unreadable_row(*some->concat(*subset(*both, {1, 6})), {4, 5}), 5);
}

TEST_F(RowSets, AReaderReportsWhichRowCannotBeReadAndGoesOn) {
  const CutFiles cut("cut", 10, 4, 2);
  const auto some = subset(*cut, {3, 0});
  const auto reader = RowReader::create(*some);
  std::vector<at::Tensor> columns = prototypes_of(*some);
  const auto slab = Slab::create(columns, 3);
  Indices rows = {1, 0, 1};
  try {
    EXPECT_FALSE(reader->gather(rows.data(), 3, *slab)) << "read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnreadable);
  }
  EXPECT_EQ(reader->unreadable(), 1);
  rows = {1};
  EXPECT_TRUE(reader->gather(rows.data(), 1, *slab));
  EXPECT_EQ(reader->unreadable(), -1);
  EXPECT_EQ(slab->view(0, 1).item<int64_t>(), 10);
}

TEST_F(RowSets, AReaderWritesOnlyIntoASlabWithRoomForItsRows) {
  const auto set = counted(0, 5);
  const auto reader = RowReader::create(*set);
  std::vector<at::Tensor> columns = prototypes_of(*set);
  const Indices rows = {0, 5, 1};
  const auto gather = [&](Slab& slab, int64_t count) {
    EXPECT_FALSE(reader->gather(rows.data(), count, slab));
  };
  const auto slab = Slab::create(columns, 2);
  expect_refused("a slab holds at most 2 rows, got 3", [&] { gather(*slab, 3); });
  expect_refused("a slab holds at most 2 rows, got -1", [&] { gather(*slab, -1); });
  expect_refused("indices must be in [0, 5), got 5", [&] { gather(*slab, 2); });
  const std::string phrase = "the slab must have the columns of the rows, [int64 [], int16 [3]]";
  expect_refused(phrase, [&] { gather(*Slab::create({columns[0]}, 2), 1); });
  expect_refused(phrase, [&] { gather(*Slab::create({columns[0], columns[0]}, 2), 1); });
}

TEST_F(RowSets, AStoppedReaderGathersNothingMore) {
  const auto set = RowSet::of_tensors({torch::ones({2, 1 << 20}, torch::kInt64)});
  const auto both = set->concat(*subset(*set, {1, 0}));
  const auto reader = RowReader::create(*both);
  std::vector<at::Tensor> columns = prototypes_of(*set);
  const auto slab = Slab::create(columns, 64);  // 512 MB: the stop comes before the end
  Indices rows(64);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<int64_t>(i % 4);
  }
  std::thread other([&] { reader->stop(); });
  while (reader->gather(rows.data(), 64, *slab)) {
  }
  other.join();
  EXPECT_FALSE(reader->gather(rows.data(), 1, *slab));
}

/// A column of words of any length, as rows of four bytes: an example of a decoder.
class Words : public RowColumn {
 public:
  explicit Words(std::vector<std::string> words)
      : RowColumn(static_cast<int64_t>(words.size()),
                  {static_cast<int64_t>(at::kByte), {kLength}, kLength}),
        words_(std::move(words)) {}

  bool gather(std::byte* target, const WantedRows& wanted, const std::atomic<bool>& stop,
              Stores /*stores*/) const override {
    for (size_t i = 0; i < wanted.rows.size() && !stop; ++i) {
      const std::string& word = words_[wanted.rows[i]];
      if (word.size() > kLength) {
        throw UnreadableRow(wanted.place(i), word + " is too long");
      }
      std::byte* const row = target + wanted.place(i) * kLength;
      std::memset(row, ' ', kLength);
      std::memcpy(row, word.data(), word.size());
    }
    return !stop;
  }

 private:
  static constexpr size_t kLength = 4;

  const std::vector<std::string> words_;
};

/// The sum of the bytes of each row of another column: an example of a transform.
class Sums : public TransformedColumn {
 public:
  explicit Sums(const SharedColumn& source)
      : TransformedColumn(source, {static_cast<int64_t>(at::kInt), {}, sizeof(int32_t)}),
        length_(static_cast<size_t>(source->row().bytes)) {}

 private:
  void transform(std::byte* target, const std::byte* source, const SampleKey& /*key*/,
                 Stores /*stores*/) const override {
    int32_t sum = 0;
    for (size_t i = 0; i < length_; ++i) {
      sum += std::to_integer<int32_t>(source[i]);
    }
    std::memcpy(target, &sum, sizeof(sum));
  }

  const size_t length_;
};

Sets words_of(std::vector<std::string> words) {
  return RowTables::set_of(table_of({std::make_shared<const Words>(std::move(words))}));
}

Sets summed(const RowSet& set, size_t column) {
  return RowTables::set_of(RowTables::of(set)->mapped(
      column, [](const SharedColumn& mapped) { return std::make_shared<const Sums>(mapped); }));
}

at::Tensor column_of(const RowSet& set, const Indices& rows) {
  const auto feed = BatchFeed::create(set, static_cast<int64_t>(rows.size()), 2, 1, true);
  feed->request(0, rows.data(), static_cast<int64_t>(rows.size()));
  feed->start();
  return take(*feed, -1)[0];
}

TEST_F(RowSets, AColumnMayDecodeRowsAndAnotherTransformThem) {
  const auto words = words_of({"a", "bc", "", "wxyz"})->concat(*words_of({"d"}));
  const at::Tensor text = column_of(*words, {4, 1, 3});
  EXPECT_EQ(text.sizes(), (at::IntArrayRef{3, 4}));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(text.const_data_ptr<uint8_t>()), 12),
            "d   bc  wxyz");
  const auto some = subset(*words, {4, 2, 1});
  const at::Tensor sums = column_of(*summed(*some, 0), {1, 0, 2});
  EXPECT_EQ(sums.scalar_type(), at::kInt);
  EXPECT_TRUE(torch::equal(
      sums, torch::tensor({4 * ' ', 'd' + 3 * ' ', 'b' + 'c' + 2 * ' '}, torch::kInt32)));
  EXPECT_TRUE(torch::equal(sums, column_of(*subset(*summed(*words, 0), {2, 4, 1}), {0, 1, 2})));
}

TEST_F(RowSets, ARowThatAColumnCannotDecodeIsReported) {
  const auto words = words_of({"a", "tall!"})->concat(*words_of({"b"}));
  EXPECT_EQ(unreadable_row(*words, {2, 0}), -1);
  EXPECT_EQ(unreadable_row(*words, {2, 0, 1}), 1);
  EXPECT_EQ(unreadable_row(*subset(*summed(*words, 0), {2, 0, 2, 1}), {2, 1, 3}), 3);
}

TEST_F(RowSets, ATransformOfManyRowsIsCompleteAndStops) {
  const at::Tensor bytes = torch::randint(256, {40, 100'000}, torch::kByte);  // 10 at once
  const auto sums = summed(*RowSet::of_tensors({bytes}), 0);
  Indices rows(40);
  std::iota(rows.rbegin(), rows.rend(), 0);
  EXPECT_TRUE(torch::equal(column_of(*sums, rows), bytes.sum(1).flip(0).to(torch::kInt32)));

  std::vector<at::Tensor> columns = prototypes_of(*sums);
  const auto reader = RowReader::create(*sums);
  reader->stop();
  EXPECT_FALSE(reader->gather(rows.data(), 40, *Slab::create(columns, 40)));
}

}  // namespace
}  // namespace torchfeed
