// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "torch/group/rank_call.h"

/// The collective operations that other native code performs within a turn of the group. Each
/// returns once it is done on this rank; for their contracts, see the facade's `ProcessGroup`.
namespace torchfeed::collectives {

/// @param limit  how long this rank waits for the others; 0: as long as in all operations
void barrier(const RankCall& call, std::chrono::milliseconds limit);
void all_reduce(const RankCall& call, const std::vector<at::Tensor>& tensors, int32_t op);
void reduce(const RankCall& call, const at::Tensor& tensor, int32_t op, int64_t root);
void broadcast(const RankCall& call, const at::Tensor& tensor, int64_t root);
void all_gather_into(const RankCall& call, const at::Tensor& output, const at::Tensor& input);
/// @param output_rows  for each rank; empty: equally many
void all_to_all_single(const RankCall& call, const at::Tensor& output, const at::Tensor& input,
                       const std::vector<int64_t>& output_rows,
                       const std::vector<int64_t>& input_rows);
[[nodiscard]] std::vector<at::Tensor> all_gather_bytes(const RankCall& call,
                                                       const at::Tensor& bytes);

}  // namespace torchfeed::collectives
