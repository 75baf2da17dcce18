// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <vector>

#include "torch/live_count.h"
#include "torchfeed/process_group.h"

namespace torchfeed {

/// The group behind the facade. A reducer shares it, so it may outlive the facade object.
class ProcessGroup::Impl {
 public:
  Impl(c10::intrusive_ptr<c10d::ProcessGroup> group, int64_t rank, int64_t world_size);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  [[nodiscard]] int64_t rank() const { return rank_; }
  [[nodiscard]] int64_t world_size() const { return world_size_; }
  /// Returns the c10d group; null in a group of one rank, where nothing is sent.
  [[nodiscard]] const c10::intrusive_ptr<c10d::ProcessGroup>& group() const { return group_; }

  void barrier();
  void all_reduce(const at::Tensor& tensor, int32_t op);
  void broadcast(const at::Tensor& tensor, int64_t root);
  [[nodiscard]] at::Tensor all_gather(const at::Tensor& tensor);
  /// Returns the texts of all ranks, in rank order; they may differ in length.
  [[nodiscard]] std::vector<std::string> gather_texts(const std::string& text);

 private:
  void agree(int64_t kind, int64_t detail, const at::Tensor& tensor, const std::string& refusal);
  [[nodiscard]] at::Tensor gather(const at::Tensor& tensor);

  LiveCount live_;
  std::mutex mutex_;
  c10::intrusive_ptr<c10d::ProcessGroup> group_;
  int64_t rank_;
  int64_t world_size_;
};

}  // namespace torchfeed
