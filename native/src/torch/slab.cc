// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/slab.h"

#include <ATen/ops/empty.h>

#include <cstddef>
#include <string>
#include <utility>

#include "torch/guard.h"
#include "torch/live_count.h"
#include "torch/pinned_memory.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

constexpr int64_t kAlignment = 64;

struct SlabColumn {
  at::Tensor prototype;
  int64_t row_bytes;
  int64_t offset;
};

int64_t checked_product(int64_t a, int64_t b) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    throw Error(ErrorCode::kOutOfMemory, "a batch of more than 2^63 bytes");
  }
  return product;
}

int64_t checked_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    throw Error(ErrorCode::kOutOfMemory, "a batch of more than 2^63 bytes");
  }
  return sum;
}

int64_t row_bytes(const at::Tensor& prototype, size_t column) {
  if (!prototype.defined() || prototype.dim() < 1 || !prototype.device().is_cpu()) {
    throw Error(ErrorCode::kInvalidArgument,
                "column " + std::to_string(column) + " must be a CPU tensor [0, ...]");
  }
  auto bytes = static_cast<int64_t>(prototype.element_size());
  for (int64_t dimension = 1; dimension < prototype.dim(); ++dimension) {
    bytes = checked_product(bytes, prototype.size(dimension));
  }
  return bytes;
}

}  // namespace

class Slab::Impl {
 public:
  /// @param device  what the memory is page-locked for; empty for ordinary memory
  Impl(const std::vector<at::Tensor>& prototypes, int64_t rows, const std::string& device)
      : rows_(rows) {
    if (prototypes.empty() || rows < 1) {
      throw Error(ErrorCode::kInvalidArgument, "a slab needs at least one column and one row");
    }
    int64_t bytes = 0;
    for (size_t i = 0; i < prototypes.size(); ++i) {
      const int64_t row = row_bytes(prototypes[i], i);
      columns_.push_back({prototypes[i], row, bytes});
      const int64_t end = checked_sum(bytes, checked_product(row, rows));
      bytes = checked_sum(end, kAlignment - 1) / kAlignment * kAlignment;
    }
    block_ = device.empty() ? at::empty({bytes}, at::kByte) : pinned_block(bytes, device);
    // Whoever writes the slab knows its address: no operation on a view may move the memory.
    block_.storage().unsafeGetStorageImpl()->set_resizable(false);
  }

  [[nodiscard]] int64_t bytes() const { return block_.numel(); }

  [[nodiscard]] int64_t rows() const { return rows_; }

  [[nodiscard]] const SlabColumn& column(int64_t number) const {
    if (number < 0 || number >= static_cast<int64_t>(columns_.size())) {
      throw Error(ErrorCode::kInvalidArgument, "no column " + std::to_string(number));
    }
    return columns_[static_cast<size_t>(number)];
  }

  [[nodiscard]] uint8_t* data() { return static_cast<uint8_t*>(block_.mutable_data_ptr()); }

  [[nodiscard]] at::Tensor view(int64_t number, int64_t rows) const {
    const SlabColumn& viewed = column(number);
    if (rows < 0 || rows > rows_) {
      throw Error(ErrorCode::kInvalidArgument, "a slab holds at most " + std::to_string(rows_) +
                                                   " rows, got " + std::to_string(rows));
    }
    std::vector<int64_t> sizes = viewed.prototype.sizes().vec();
    sizes[0] = rows;
    at::Tensor view = at::empty({0}, viewed.prototype.options());
    view.set_(block_.storage(),
              viewed.offset / static_cast<int64_t>(viewed.prototype.element_size()), sizes);
    return view;
  }

  [[nodiscard]] bool is_free() const {
    if (block_.storage().use_count() != 1) {
      return false;
    }
    // The count is read relaxed. Locking a weak reference acquires what the last viewer released,
    // so its reads happen before the next writes; TSan does not know a fence.
    static_cast<void>(block_.storage().getWeakStorageImpl().lock());
    return true;
  }

 private:
  const int64_t rows_;
  const LiveCount live_;
  std::vector<SlabColumn> columns_;
  at::Tensor block_;
};

Slab::Slab(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Slab::~Slab() = default;

std::unique_ptr<Slab> Slab::create(const std::vector<at::Tensor>& prototypes, int64_t rows) {
  return guarded([&] {
    return std::unique_ptr<Slab>(new Slab(std::make_unique<Impl>(prototypes, rows, "")));
  });
}

std::unique_ptr<Slab> Slab::create_pinned(const std::vector<at::Tensor>& prototypes, int64_t rows,
                                          const std::string& device) {
  return guarded([&] {
    return std::unique_ptr<Slab>(new Slab(std::make_unique<Impl>(prototypes, rows, device)));
  });
}

int64_t Slab::bytes() const { return impl_->bytes(); }

int64_t Slab::column_offset(int64_t column) const {
  return guarded([&] { return impl_->column(column).offset; });
}

int64_t Slab::column_bytes(int64_t column) const {
  return guarded([&] { return impl_->column(column).row_bytes * impl_->rows(); });
}

uint8_t* Slab::data() { return impl_->data(); }

at::Tensor Slab::view(int64_t column, int64_t rows) const {
  return guarded([&] { return impl_->view(column, rows); });
}

bool Slab::is_free() const { return impl_->is_free(); }

}  // namespace torchfeed
