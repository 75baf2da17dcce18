// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/index_cursor.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <torch/data/samplers/distributed.h>
#include <torch/data/samplers/random.h>
#include <torch/data/samplers/sequential.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "torch/base/guard.h"
#include "torch/base/live_count.h"
#include "torch/feed/sampler_state.h"
#include "torchfeed/error.h"

namespace torchfeed {
namespace {

namespace samplers = torch::data::samplers;

// libtorch's next() returns a vector, so this bounds the memory of a read of any length.
constexpr int64_t kChunk = 8192;

void require(bool holds, const char* rule, int64_t value) {
  if (!holds) {
    throw Error(ErrorCode::kInvalidArgument, std::string(rule) + ", got " + std::to_string(value));
  }
}

size_t to_size(int64_t value) { return static_cast<size_t>(value); }

void check_dataset_size(int64_t n) { require(n >= 0, "the dataset size must be at least 0", n); }

void check_epoch(int64_t epoch) { require(epoch >= 0, "the epoch must be at least 0", epoch); }

void check_list_length(int64_t length) {
  const size_t most = std::vector<size_t>().max_size();
  require(to_size(length) <= most, "an index list is too long for libtorch", length);
}

/// The number of samples per rank; the same rule for all of libtorch's distributed samplers.
int64_t samples_of_a_rank(int64_t n, int64_t world_size, int64_t rank, bool pad) {
  check_dataset_size(n);
  require(world_size >= 1, "the world size must be at least 1", world_size);
  if (rank < 0 || rank >= world_size) {
    throw Error(ErrorCode::kInvalidArgument, "Invalid rank " + std::to_string(rank) +
                                                 ", rank should be in the interval [0, " +
                                                 std::to_string(world_size - 1) + "]");
  }
  return n / world_size + (pad && n % world_size != 0 ? 1 : 0);
}

int64_t length_over_ranks(int64_t samples, int64_t world_size) {
  int64_t length = 0;
  if (__builtin_mul_overflow(samples, world_size, &length)) {
    length = std::numeric_limits<int64_t>::max();
  }
  return length;
}

}  // namespace

class IndexCursor::Impl {
 public:
  explicit Impl(int64_t size) : size_(size) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  virtual ~Impl() = default;

  int64_t read(int64_t* into, int64_t count) {
    int64_t done = 0;
    while (done < count) {
      const auto batch = next(to_size(std::min(count - done, kChunk)));
      if (!batch) {
        break;
      }
      deliver(*batch, into + done);
      done += static_cast<int64_t>(batch->size());
    }
    return done;
  }

  int64_t* window() {
    if (!window_) {
      window_ = std::make_unique_for_overwrite<int64_t[]>(to_size(window_length()));
    }
    return window_.get();
  }

  [[nodiscard]] int64_t window_length() const { return std::clamp<int64_t>(size_, 1, kChunk); }
  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] virtual int64_t offset() const = 0;
  virtual void seek(int64_t offset) = 0;

 protected:
  [[nodiscard]] virtual std::optional<std::vector<size_t>> next(size_t count) = 0;

  virtual void deliver(const std::vector<size_t>& batch, int64_t* into) {
    std::copy(batch.begin(), batch.end(), into);
  }

 private:
  const LiveCount live_;
  int64_t size_;
  std::unique_ptr<int64_t[]> window_;
};

namespace {

/// A cursor over one of libtorch's samplers; its position is relative to the start of its slice.
template <class Impl, class Sampler>
class SamplerCursor : public Impl {
 public:
  SamplerCursor(int64_t size, Sampler sampler)
      : Impl(size), sampler_(std::move(sampler)), begin_(sampler_.index()) {}

  [[nodiscard]] int64_t offset() const override {
    return static_cast<int64_t>(sampler_.index() - begin_);
  }

  void seek(int64_t offset) override {
    auto& position = detail::position_of(sampler_);
    position = static_cast<std::remove_reference_t<decltype(position)>>(begin_ + to_size(offset));
  }

 protected:
  std::optional<std::vector<size_t>> next(size_t count) override { return sampler_.next(count); }

 private:
  Sampler sampler_;
  size_t begin_;
};

/// A `SamplerCursor` for orders whose padding starts at 0 but runs past the end of the dataset.
template <class Impl, class Sampler>
class WrappingCursor final : public SamplerCursor<Impl, Sampler> {
 public:
  WrappingCursor(int64_t size, Sampler sampler, int64_t n)
      : SamplerCursor<Impl, Sampler>(size, std::move(sampler)), n_(to_size(n)) {}

 protected:
  void deliver(const std::vector<size_t>& batch, int64_t* into) override {
    std::transform(batch.begin(), batch.end(), into,
                   [this](size_t index) { return static_cast<int64_t>(index % n_); });
  }

 private:
  size_t n_;
};

}  // namespace

IndexCursor::IndexCursor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

IndexCursor::~IndexCursor() = default;

std::unique_ptr<IndexCursor> IndexCursor::distributed_random(int64_t n, int64_t world_size,
                                                             int64_t rank, bool pad,
                                                             int64_t epoch) {
  return guarded([&] {
    const int64_t size = samples_of_a_rank(n, world_size, rank, pad);
    check_epoch(epoch);
    const int64_t length = length_over_ranks(size, world_size);
    check_list_length(std::max(n, length));
    // The constructor and reset() both shuffle; constructing an empty sampler makes the first free.
    samplers::DistributedRandomSampler sampler(0, to_size(world_size), to_size(rank), pad);
    sampler.set_epoch(to_size(epoch));
    sampler.reset(to_size(n));
    std::unique_ptr<Impl> impl;
    if (length - n > n) {
      impl = std::make_unique<WrappingCursor<Impl, decltype(sampler)>>(size, std::move(sampler), n);
    } else {
      impl = std::make_unique<SamplerCursor<Impl, decltype(sampler)>>(size, std::move(sampler));
    }
    return std::unique_ptr<IndexCursor>(new IndexCursor(std::move(impl)));
  });
}

std::unique_ptr<IndexCursor> IndexCursor::distributed_sequential(int64_t n, int64_t world_size,
                                                                 int64_t rank, bool pad) {
  return guarded([&] {
    const int64_t size = samples_of_a_rank(n, world_size, rank, pad);
    samplers::DistributedSequentialSampler sampler(to_size(n), to_size(world_size), to_size(rank),
                                                   pad);
    return std::unique_ptr<IndexCursor>(new IndexCursor(
        std::make_unique<SamplerCursor<Impl, decltype(sampler)>>(size, std::move(sampler))));
  });
}

std::unique_ptr<IndexCursor> IndexCursor::random(int64_t n, int64_t seed, int64_t epoch) {
  return guarded([&] {
    check_dataset_size(n);
    check_epoch(epoch);
    check_list_length(n);
    const uint64_t sum = static_cast<uint64_t>(seed) + static_cast<uint64_t>(epoch);
    samplers::RandomSampler sampler(0);
    detail::order_of(sampler) =
        at::randperm(n, at::make_generator<at::CPUGeneratorImpl>(sum), at::kLong);
    return std::unique_ptr<IndexCursor>(new IndexCursor(
        std::make_unique<SamplerCursor<Impl, decltype(sampler)>>(n, std::move(sampler))));
  });
}

std::unique_ptr<IndexCursor> IndexCursor::sequential(int64_t n) {
  return guarded([&] {
    check_dataset_size(n);
    samplers::SequentialSampler sampler(to_size(n));
    return std::unique_ptr<IndexCursor>(new IndexCursor(
        std::make_unique<SamplerCursor<Impl, decltype(sampler)>>(n, std::move(sampler))));
  });
}

int64_t IndexCursor::read(int64_t* into, int64_t count) {
  return guarded([&] {
    require(count >= 0, "the number of indices to read must be at least 0", count);
    return impl_->read(into, count);
  });
}

int64_t* IndexCursor::window() {
  return guarded([&] { return impl_->window(); });
}

int64_t IndexCursor::window_length() const { return impl_->window_length(); }

int64_t IndexCursor::offset() const { return impl_->offset(); }

int64_t IndexCursor::remaining() const { return impl_->size() - impl_->offset(); }

void IndexCursor::seek(int64_t offset) {
  guarded([&] {
    if (offset < 0 || offset > impl_->size()) {
      throw Error(ErrorCode::kInvalidArgument, "the offset must be in [0, " +
                                                   std::to_string(impl_->size()) + "], got " +
                                                   std::to_string(offset));
    }
    impl_->seek(offset);
  });
}

}  // namespace torchfeed
