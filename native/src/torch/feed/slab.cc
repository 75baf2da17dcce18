// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/slab.h"

#include <cstddef>
#include <string>
#include <utility>

#include "torch/base/guard.h"
#include "torch/feed/row_shape.h"
#include "torch/feed/slab_impl.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

RowShape row_of(const at::Tensor& prototype, size_t column) {
  if (!prototype.defined() || prototype.dim() < 1 || !prototype.device().is_cpu()) {
    throw Error(ErrorCode::kInvalidArgument,
                "column " + std::to_string(column) + " must be a CPU tensor [0, ...]");
  }
  return row_shape(prototype.scalar_type(), prototype.sizes().slice(1).vec());
}

std::shared_ptr<const SlabLayout> layout_of(const std::vector<at::Tensor>& prototypes,
                                            int64_t rows) {
  std::vector<RowShape> columns;
  for (size_t i = 0; i < prototypes.size(); ++i) {
    columns.push_back(row_of(prototypes[i], i));
  }
  return std::make_shared<const SlabLayout>(std::move(columns), rows);
}

}  // namespace

Slab::Impl::Impl(const std::vector<at::Tensor>& prototypes, int64_t rows, const std::string& device)
    : block(layout_of(prototypes, rows), device) {}

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

int64_t Slab::bytes() const { return impl_->block.layout().bytes(); }

int64_t Slab::column_offset(int64_t column) const {
  return guarded([&] { return impl_->block.layout().offset(column); });
}

int64_t Slab::column_bytes(int64_t column) const {
  return guarded([&] {
    const SlabLayout& layout = impl_->block.layout();
    return layout.row_bytes(column) * layout.rows();
  });
}

uint8_t* Slab::data() { return reinterpret_cast<uint8_t*>(impl_->block.data()); }

at::Tensor Slab::view(int64_t column, int64_t rows) const {
  return guarded([&] { return impl_->block.view(column, rows); });
}

void Slab::view_all(int64_t rows, std::vector<at::Tensor>& views) const {
  guarded([&] { impl_->block.view_all(rows, views); });
}

bool Slab::is_free() const { return impl_->block.is_free(); }

}  // namespace torchfeed
