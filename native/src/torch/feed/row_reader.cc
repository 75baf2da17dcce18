// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/row_reader.h"

#include <atomic>
#include <string>
#include <utility>

#include "torch/base/guard.h"
#include "torch/base/live_count.h"
#include "torch/feed/row_shape.h"
#include "torch/feed/row_tables.h"
#include "torch/feed/slab_impl.h"
#include "torchfeed/error.h"

namespace torchfeed {

class RowReader::Impl {
 public:
  explicit Impl(SharedTable table) : table_(std::move(table)) {}

  bool gather(const int64_t* indices, int64_t count, SlabBlock& target) {
    unreadable_ = -1;
    check_target(target.layout(), count);
    check_rows(indices, count, table_->rows(), rows_);
    try {
      return table_->gather(target.targets(), {rows_, {}, {}, key_}, stop_, Stores::kCached);
    } catch (const UnreadableRow& error) {
      unreadable_ = static_cast<int64_t>(error.place());
      throw;
    }
  }

  [[nodiscard]] int64_t unreadable() const { return unreadable_; }

  void stop() { stop_ = true; }

  void draw_for(const RandomKey& key) { key_ = key; }

 private:
  void check_target(const SlabLayout& slab, int64_t count) const {
    if (count < 0 || count > slab.rows()) {
      throw Error(ErrorCode::kInvalidArgument, "a slab holds at most " +
                                                   std::to_string(slab.rows()) + " rows, got " +
                                                   std::to_string(count));
    }
    const std::vector<RowShape>& columns = table_->columns();
    bool fits = slab.columns() == static_cast<int64_t>(columns.size());
    for (size_t i = 0; fits && i < columns.size(); ++i) {
      fits = slab.row(static_cast<int64_t>(i)) == columns[i];
    }
    if (!fits) {
      throw Error(ErrorCode::kInvalidArgument,
                  "the slab must have the columns of the rows, " + described(columns));
    }
  }

  const SharedTable table_;
  std::atomic<bool> stop_{false};
  Rows rows_;  // reused
  int64_t unreadable_ = -1;
  RandomKey key_;
  const LiveCount live_;
};

RowReader::RowReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

RowReader::~RowReader() = default;

std::unique_ptr<RowReader> RowReader::create(const RowSet& rows) {
  return guarded([&] {
    return std::unique_ptr<RowReader>(new RowReader(std::make_unique<Impl>(RowTables::of(rows))));
  });
}

bool RowReader::gather(const int64_t* indices, int64_t count, Slab& target) {
  return guarded([&] { return impl_->gather(indices, count, target.impl_->block); });
}

int64_t RowReader::unreadable() const { return impl_->unreadable(); }

void RowReader::draw_for(int64_t seed, int64_t epoch) { impl_->draw_for({seed, epoch}); }

void RowReader::stop() { impl_->stop(); }

}  // namespace torchfeed
