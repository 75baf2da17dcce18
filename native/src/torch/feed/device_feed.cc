// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/device_feed.h"

#include <c10/core/ScalarTypeToTypeMeta.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "torch/base/device.h"
#include "torch/base/guard.h"
#include "torch/base/live_count.h"
#include "torch/device/device_ring.h"
#include "torch/device/page_lock.h"
#include "torch/device/pinned_memory.h"
#include "torch/feed/row_tables.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

constexpr int64_t kLeastGathered = 1024;  // bytes of a row; shorter ones waste most of a transfer
constexpr int64_t kStagedAlignment = 64;

int64_t end_of(int64_t offset, int64_t bytes) {
  return (offset + bytes + kStagedAlignment - 1) / kStagedAlignment * kStagedAlignment;
}

std::span<const SharedColumn> resident_columns(const SharedTable& table) {
  const std::span<const SharedColumn> columns = table->side_by_side();
  bool resident = !columns.empty();
  for (const SharedColumn& column : columns) {
    resident = resident && column->resident() != nullptr;
  }
  if (!resident) {
    throw Error(ErrorCode::kInvalidArgument,
                "a device gathers only rows of tensors in memory: not of files, subsets, "
                "concatenations and transforms");
  }
  return columns;
}

}  // namespace

class DeviceFeed::Impl {
 public:
  Impl(const SharedTable& table, const c10::Device& device, int64_t slots)
      : table_(table), columns_(resident_columns(table)), ring(device, slots) {
    for (const SharedColumn& column : columns_) {
      const int64_t bytes = column->row().bytes;
      rows_.push_back(
          bytes < kLeastGathered || column->rows() == 0
              ? at::Tensor()
              : rows_for_device(column->resident(), column->rows(), bytes, device, column));
    }
  }

  int64_t send(const int64_t* indices, int64_t count) {
    Rows rows;
    check_rows(indices, count, table_->rows(), rows);
    std::vector<DeviceColumn> columns = laid_out(count);
    at::Tensor staged = free_block().narrow(0, 0, staged_bytes_);
    auto* const to = static_cast<std::byte*>(staged.mutable_data_ptr());
    std::memcpy(to, indices, rows.size() * sizeof(int64_t));
    const std::atomic<bool> never{false};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i].rows.defined()) {
        columns_[i]->gather(to + columns[i].offset, {rows, {}, {}, {}}, never, Stores::kCached);
      }
    }
    return ring.send([&](DeviceSlot& slot, int64_t batch, const c10::Stream& stream) {
      slot.gather(batch, std::move(staged), std::move(columns), stream);
    });
  }

 private:
  /// Describes the columns of a batch, and lays out those that are staged behind the indices.
  std::vector<DeviceColumn> laid_out(int64_t count) {
    staged_bytes_ = end_of(0, count * static_cast<int64_t>(sizeof(int64_t)));
    std::vector<DeviceColumn> columns;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const RowShape& row = columns_[i]->row();
      std::vector<int64_t> sizes{count};
      sizes.insert(sizes.end(), row.sizes.begin(), row.sizes.end());
      columns.push_back({c10::scalarTypeToTypeMeta(static_cast<at::ScalarType>(row.dtype)),
                         std::move(sizes), rows_[i], staged_bytes_});
      if (!rows_[i].defined()) {
        staged_bytes_ = end_of(staged_bytes_, count * row.bytes);
      }
    }
    return columns;
  }

  /// Returns page-locked memory that no copy reads: kept, since locking takes longer than a batch.
  const at::Tensor& free_block() {
    std::erase_if(blocks_, [this](const at::Tensor& block) {
      return block.storage().use_count() == 1 && block.numel() < staged_bytes_;
    });
    for (const at::Tensor& block : blocks_) {
      if (block.storage().use_count() == 1) {
        return block;
      }
    }
    const auto bytes = std::bit_ceil(static_cast<std::uint64_t>(staged_bytes_));
    return blocks_.emplace_back(pinned_block(static_cast<int64_t>(bytes), ring.device().str()));
  }

  const LiveCount live_;
  const SharedTable table_;
  const std::span<const SharedColumn> columns_;
  std::vector<at::Tensor> rows_;  // of each column; undefined if its rows are short
  int64_t staged_bytes_ = 0;
  std::vector<at::Tensor> blocks_;

 public:
  DeviceRing ring;
};

DeviceFeed::DeviceFeed(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

DeviceFeed::~DeviceFeed() = default;

std::unique_ptr<DeviceFeed> DeviceFeed::create(const RowSet& rows, const std::string& device,
                                               int64_t slots) {
  return guarded([&] {
    return std::unique_ptr<DeviceFeed>(
        new DeviceFeed(std::make_unique<Impl>(RowTables::of(rows), usable_device(device), slots)));
  });
}

int64_t DeviceFeed::send(const int64_t* indices, int64_t count) {
  return guarded([&] { return impl_->send(indices, count); });
}

std::vector<at::Tensor> DeviceFeed::receive(int64_t batch) {
  return guarded([&] { return impl_->ring.receive(batch); });
}

void DeviceFeed::release(int64_t batch) {
  guarded([&] { impl_->ring.release(batch); });
}

void DeviceFeed::rewind() {
  guarded([&] { impl_->ring.rewind(); });
}

void DeviceFeed::times(int64_t* values) const {
  values[kCopyingNanos] = impl_->ring.copying_time().count();
  values[kWaitingNanos] = impl_->ring.waiting_time().count();
}

void DeviceFeed::interrupt() { impl_->ring.interrupt(); }

}  // namespace torchfeed
