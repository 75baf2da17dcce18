// SPDX-License-Identifier: Apache-2.0
#include "core/rows/row_table.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>

namespace torchfeed {

/// The replacement of a column in tables that may refer to the same tables again and again.
class RowTable::Mapping {
 public:
  Mapping(std::size_t column, const std::function<SharedColumn(const SharedColumn&)>& map)
      : column_(column), map_(map) {}

  [[nodiscard]] std::size_t column() const { return column_; }
  [[nodiscard]] SharedColumn of(const SharedColumn& column) const { return map_(column); }

  /// Maps each table once: nested concatenations of a table with itself have 2^depth parts.
  SharedTable of(const RowTable& table) {
    SharedTable& known = known_[&table];
    if (known == nullptr) {
      known = table.replaced(*this);
    }
    return known;
  }

 private:
  const std::size_t column_;
  const std::function<SharedColumn(const SharedColumn&)>& map_;
  std::unordered_map<const RowTable*, SharedTable> known_;
};

namespace {

/// Each part takes 32 bytes, and 8 in each batch.
constexpr std::size_t kMaxParts = std::size_t{1} << 20;
/// Methods and destructors of tables call the same ones of the tables inside.
constexpr int64_t kMaxDepth = 1000;

std::vector<RowShape> shapes_of(const std::vector<SharedColumn>& columns) {
  if (columns.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "a dataset needs at least one column");
  }
  std::vector<RowShape> shapes;
  for (const SharedColumn& column : columns) {
    if (column->rows() != columns[0]->rows()) {
      throw Error(ErrorCode::kInvalidArgument, "column " + std::to_string(shapes.size()) +
                                                   " must have as many rows as column 0 (" +
                                                   std::to_string(columns[0]->rows()) + "), got " +
                                                   std::to_string(column->rows()));
    }
    shapes.push_back(column->row());
  }
  return shapes;
}

/// Columns side by side.
class Columns : public RowTable {
 public:
  explicit Columns(std::vector<SharedColumn> columns)
      : RowTable(columns.empty() ? 0 : columns[0]->rows(), shapes_of(columns), 1),
        columns_(std::move(columns)) {}

  bool gather(std::span<std::byte* const> targets, const WantedRows& wanted,
              const std::atomic<bool>& stop, Stores stores) const override {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!columns_[i]->gather(targets[i], wanted, stop, stores)) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::span<const SharedColumn> side_by_side() const override { return columns_; }

 private:
  [[nodiscard]] SharedTable replaced(Mapping& mapping) const override {
    std::vector<SharedColumn> columns = columns_;
    SharedColumn& column = columns.at(mapping.column());
    column = mapping.of(column);
    return table_of(std::move(columns));
  }

  const std::vector<SharedColumn> columns_;
};

/// Some rows of a table, in an order of their own. The numbers of a batch are translated once for
/// all columns.
class Subset : public RowTable {
 public:
  Subset(SharedTable table, std::shared_ptr<const Rows> rows)
      : RowTable(static_cast<int64_t>(rows->size()), table->columns(), depth_of(*table) + 1),
        table_(std::move(table)),
        rows_(std::move(rows)) {}

  [[nodiscard]] const SharedTable& table() const { return table_; }

  [[nodiscard]] Rows translated(std::span<const std::size_t> rows) const {
    Rows translated(rows.size());
    std::transform(rows.begin(), rows.end(), translated.begin(),
                   [this](std::size_t row) { return (*rows_)[row]; });
    return translated;
  }

  bool gather(std::span<std::byte* const> targets, const WantedRows& wanted,
              const std::atomic<bool>& stop, Stores stores) const override {
    const Rows rows = translated(wanted.rows);
    return table_->gather(targets, {rows, wanted.places, wanted.indices(), wanted.key}, stop,
                          stores);
  }

 private:
  [[nodiscard]] SharedTable replaced(Mapping& mapping) const override {
    return std::make_shared<Subset>(mapping.of(*table_), rows_);
  }

  const SharedTable table_;
  const std::shared_ptr<const Rows> rows_;
};

int64_t rows_of(const std::vector<SharedTable>& parts) {
  int64_t rows = 0;
  for (const SharedTable& part : parts) {
    if (__builtin_add_overflow(rows, part->rows(), &rows)) {
      throw Error(ErrorCode::kInvalidArgument, "datasets together must have fewer than 2^63 rows");
    }
  }
  return rows;
}

/// The rows of several tables, one table after another.
class Concatenation : public RowTable {
 public:
  explicit Concatenation(std::vector<SharedTable> parts)
      : RowTable(rows_of(parts), parts[0]->columns(), depth_of_all(parts) + 1),
        parts_(std::move(parts)) {
    std::size_t first = 0;
    for (const SharedTable& part : parts_) {
      firsts_.push_back(first);
      first += static_cast<std::size_t>(part->rows());
      ends_.push_back(first);
    }
  }

  [[nodiscard]] const std::vector<SharedTable>& parts() const { return parts_; }

  /// Asks each part once for all of its rows, so that it can read and prefetch them together. Their
  /// order is kept, so adjacent rows stay adjacent.
  bool gather(std::span<std::byte* const> targets, const WantedRows& wanted,
              const std::atomic<bool>& stop, Stores stores) const override {
    const std::size_t count = wanted.rows.size();
    Rows part_of(count);
    Rows ends(parts_.size() + 1);  // of each part in `rows` and `places`, once these are filled
    for (std::size_t i = 0; i < count; ++i) {
      part_of[i] = part(wanted.rows[i]);
      ++ends[part_of[i] + 1];
    }
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    Rows rows(count);
    Rows places(count);
    Rows samples(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = ends[part_of[i]]++;
      rows[at] = wanted.rows[i] - firsts_[part_of[i]];
      places[at] = wanted.place(i);
      samples[at] = wanted.indices()[i];
    }
    std::size_t begin = 0;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const std::size_t length = ends[p] - begin;
      const WantedRows here{std::span(rows).subspan(begin, length),
                            std::span(places).subspan(begin, length),
                            std::span(samples).subspan(begin, length), wanted.key};
      if (length > 0 && !parts_[p]->gather(targets, here, stop, stores)) {
        return false;
      }
      begin = ends[p];
    }
    return true;
  }

 private:
  static int64_t depth_of_all(const std::vector<SharedTable>& parts) {
    int64_t depth = 0;
    for (const SharedTable& part : parts) {
      depth = std::max(depth, depth_of(*part));
    }
    return depth;
  }

  [[nodiscard]] SharedTable replaced(Mapping& mapping) const override {
    std::vector<SharedTable> parts;
    for (const SharedTable& part : parts_) {
      parts.push_back(mapping.of(*part));
    }
    return std::make_shared<Concatenation>(std::move(parts));
  }

  [[nodiscard]] std::size_t part(std::size_t row) const {
    return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), row) -
                                    ends_.begin());
  }

  const std::vector<SharedTable> parts_;
  Rows firsts_;
  Rows ends_;
};

void append(std::vector<SharedTable>& parts, const SharedTable& table) {
  if (const auto* nested = dynamic_cast<const Concatenation*>(table.get())) {
    parts.insert(parts.end(), nested->parts().begin(), nested->parts().end());
  } else {
    parts.push_back(table);
  }
}

}  // namespace

RowTable::RowTable(int64_t rows, std::vector<RowShape> columns, int64_t depth)
    : rows_(rows), columns_(std::move(columns)), depth_(depth) {
  if (depth > kMaxDepth) {
    throw Error(ErrorCode::kInvalidArgument,
                "subsets of concatenations of subsets can be nested at most " +
                    std::to_string(kMaxDepth) +
                    " deep; select the rows of the first dataset instead");
  }
}

SharedTable RowTable::mapped(std::size_t column,
                             const std::function<SharedColumn(const SharedColumn&)>& map) const {
  Mapping mapping(column, map);
  return mapping.of(*this);
}

SharedTable table_of(std::vector<SharedColumn> columns) {
  return std::make_shared<Columns>(std::move(columns));
}

// Subsets of subsets and concatenations of concatenations are resolved here, so that nesting them,
// say in each epoch, makes batches neither slower nor deeper.

SharedTable subset_of(SharedTable table, Rows rows) {
  if (const auto* nested = dynamic_cast<const Subset*>(table.get())) {
    return std::make_shared<Subset>(nested->table(),
                                    std::make_shared<const Rows>(nested->translated(rows)));
  }
  return std::make_shared<Subset>(std::move(table), std::make_shared<const Rows>(std::move(rows)));
}

SharedTable concatenation_of(const SharedTable& first, const SharedTable& second) {
  std::vector<SharedTable> parts;
  append(parts, first);
  append(parts, second);
  if (parts.size() > kMaxParts) {
    throw Error(ErrorCode::kInvalidArgument,
                "a concatenation must have at most " + std::to_string(kMaxParts) +
                    " datasets, including its parts', got " + std::to_string(parts.size()) +
                    "; repeat samples in the sampler, or store more rows in each dataset");
  }
  return std::make_shared<Concatenation>(std::move(parts));
}

}  // namespace torchfeed
