// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torchfeed/export.h"
#include "torchfeed/work.h"

namespace torchfeed {

/// The ranks that work together, and their collective operations on tensors.
///
/// Every rank must call the same operations in the same order. A lost peer is reported as
/// `PEER_LOST`, and one that does not respond within the backend's timeout as `TIMEOUT`.
/// Thread-safe: collective operations run one at a time, in the order of the calls, and so do the
/// messages of one tag to or from one peer.
///
/// Each operation takes a mode, a sum of:
/// - `kChecked`: the ranks compare operation, shapes and dtypes first, which costs a round, and a
///   difference is `INVALID_ARGUMENT` on every rank. Without it, ranks that differ end in any
///   error, in a timeout, or in the end of the process.
/// - `kAsynchronous`: the operation runs in a thread of the group, and is returned as its `Work`;
///   without it, it runs in the calling thread, and `Work` is null if it returns no tensor.
class TORCHFEED_API ProcessGroup {
 public:
  static constexpr int32_t kChecked = 1;
  static constexpr int32_t kAsynchronous = 2;

  /// The ways in which a reduction combines the ranks' values: the mean only floating-point
  /// numbers, and the bitwise operations, which come last, only integers.
  enum ReduceOp : int { kSum, kMean, kProduct, kMin, kMax, kBand, kBor, kBxor, kReduceOpCount };

  /// Shares the ownership of an existing `c10d::Backend`.
  ///
  /// @param backend_address  the address of the backend; 0 for a group of one rank
  [[nodiscard]] static std::unique_ptr<ProcessGroup> adopt(int64_t backend_address, int64_t rank,
                                                           int64_t world_size);
  /// Connects this rank to the others over Gloo.
  ///
  /// @param store_address  the address of a `c10d::Store`
  /// @param prefix  the start of the group's keys; no other group may use it
  /// @param milliseconds  how long connecting and each operation waits for the others
  /// @param host  the address to listen at; empty to use `network_interface`
  /// @param network_interface  the network interface; empty for this host name's
  /// @param has_python_ranks  whether others may be Python's `ProcessGroupGloo`: operations then
  ///     send as Python's do, and ignore `kChecked`
  [[nodiscard]] static std::unique_ptr<ProcessGroup> connect(
      int64_t store_address, const std::string& prefix, int64_t rank, int64_t world_size,
      int64_t milliseconds, const std::string& host, const std::string& network_interface,
      bool has_python_ranks = false);
  /// Sets the environment in which a failure of NCCL fails operations, instead of ending the
  /// process; to be called before the first `ProcessGroupNCCL` is made.
  static void prepare_nccl();
  /// Throws an `Error` if `use_device` would refuse the device, for the same reason.
  void check_device(const std::string& device);
  /// Sends tensors of a device through this `c10d::Backend`, sharing its ownership: the presets'
  /// `ProcessGroupNCCL`. To be called once, before any operation. Without it, tensors of devices
  /// are copied to host memory to be sent.
  ///
  /// @param device  the name of the device, with its index; the group takes no other of this type
  void use_device(int64_t backend_address, const std::string& device);
  /// Wraps the store in two nested `c10d::PrefixStore`s, the inner one with this prefix, and
  /// returns the outer one's address, to be freed by `release_store`. The presets' classes count
  /// references to results of `getUnderlyingStore`, but not to other stores.
  [[nodiscard]] static int64_t nested_store(int64_t store_address, const std::string& prefix);
  /// Lets a `c10d::Store` that was made by a plain `new` live until `release_store` and until no
  /// group uses it: a group may end later than the caller, for example after a hung operation.
  static void own_store(int64_t store_address);
  static void release_store(int64_t store_address);
  ProcessGroup(const ProcessGroup&) = delete;
  /// Wakes operations in flight as `abort` does, and waits for them at most half a second; if the
  /// group has a device, two to four seconds.
  ~ProcessGroup();

  [[nodiscard]] int64_t rank() const;
  [[nodiscard]] int64_t world_size() const;

  /// Ends the connections: operations in flight, and all later ones, fail with `ILLEGAL_STATE`, and
  /// the other ranks' with `PEER_LOST`. Never waits. Of an adopted backend, only operations on a
  /// device end. The process must ignore SIGPIPE, as the JVM does.
  void abort();
  /// Aborts `other`, too, once this group is aborted, unless `other` has been deleted by then.
  void abort_with(const ProcessGroup& other);
  /// Returns the rank whose connection was the first to be seen lost; -1 if none, or it is unknown.
  [[nodiscard]] int64_t lost_rank() const;
  /// Returns the rank for whose loss the connection to `rank` has ended: that one, or the one for
  /// which it has left; -1 if that is unknown, -2 if the connection is not seen to have ended.
  [[nodiscard]] int64_t lost_with(int64_t rank) const;
  /// Returns whether the connection to a rank is lost.
  [[nodiscard]] bool is_lost(int64_t rank) const;
  /// Like `abort`, if an operation is in flight.
  void abort_if_busy();

  /// Waits until every rank has called this function.
  ///
  /// @param milliseconds  how long this rank waits for the others; 0: as long as in all operations
  std::unique_ptr<Work> barrier(int32_t mode = kChecked, int64_t milliseconds = 0);
  /// Replaces `tensor` on every rank with the reduction over all ranks.
  ///
  /// @param op  a `ReduceOp`
  std::unique_ptr<Work> all_reduce(const torch::Tensor& tensor, int32_t op,
                                   int32_t mode = kChecked);
  /// Like `all_reduce` of each of the tensors, which have one dtype, in one message.
  std::unique_ptr<Work> all_reduce_coalesced(const std::vector<torch::Tensor>& tensors, int32_t op,
                                             int32_t mode = kChecked);
  /// Replaces `tensor` on rank `root` with the reduction over all ranks.
  std::unique_ptr<Work> reduce(const torch::Tensor& tensor, int32_t op, int64_t root,
                               int32_t mode = kChecked);
  /// Reduces the inputs of all ranks, each of which holds one output for each rank, and writes the
  /// part of this rank into the output.
  std::unique_ptr<Work> reduce_scatter(const torch::Tensor& output, const torch::Tensor& input,
                                       int32_t op, int32_t mode = kChecked);
  /// Like `reduce_scatter` of each input into its output, all of one dtype, in one message.
  std::unique_ptr<Work> reduce_scatter_coalesced(const std::vector<torch::Tensor>& outputs,
                                                 const std::vector<torch::Tensor>& inputs,
                                                 int32_t op, int32_t mode = kChecked);
  /// Replaces `tensor` on every rank with rank `root`'s.
  std::unique_ptr<Work> broadcast(const torch::Tensor& tensor, int64_t root,
                                  int32_t mode = kChecked);
  /// Writes input i of rank `root` into the output of rank i; other ranks pass no inputs.
  std::unique_ptr<Work> scatter(const torch::Tensor& output,
                                const std::vector<torch::Tensor>& inputs, int64_t root,
                                int32_t mode = kChecked);
  /// Returns the tensors of all ranks, stacked in rank order: `[world_size, ...]`.
  std::unique_ptr<Work> all_gather(const torch::Tensor& tensor, int32_t mode = kChecked);
  /// Like `all_gather` of each of the tensors, in one message; returns as many stacks.
  std::unique_ptr<Work> all_gather_coalesced(const std::vector<torch::Tensor>& tensors,
                                             int32_t mode = kChecked);
  /// Writes the inputs of all ranks into `output`, one after the other.
  std::unique_ptr<Work> all_gather_into(const torch::Tensor& output, const torch::Tensor& input,
                                        int32_t mode = kChecked);
  /// Returns the tensors of all ranks, stacked, at rank `root`, and nothing elsewhere.
  std::unique_ptr<Work> gather(const torch::Tensor& tensor, int64_t root, int32_t mode = kChecked);
  /// Sends input i to rank i, and receives output i from rank i; of any sizes.
  std::unique_ptr<Work> all_to_all(const std::vector<torch::Tensor>& outputs,
                                   const std::vector<torch::Tensor>& inputs,
                                   int32_t mode = kChecked);
  /// Like `all_to_all` of rows of one tensor.
  ///
  /// @param output_rows  how many rows of the output come from each rank; null: equally many
  /// @param input_rows  how many rows of the input go to each rank; null: equally many
  std::unique_ptr<Work> all_to_all_single(const torch::Tensor& output, const torch::Tensor& input,
                                          const int64_t* output_rows, const int64_t* input_rows,
                                          int32_t mode = kChecked);
  /// Returns the bytes, uint8 of any length, of each rank.
  std::unique_ptr<Work> all_gather_bytes(const torch::Tensor& bytes, int32_t mode = kChecked);
  /// Returns the bytes of rank `root`; other ranks' are not used.
  std::unique_ptr<Work> broadcast_bytes(const torch::Tensor& bytes, int64_t root,
                                        int32_t mode = kChecked);

  /// Sends `tensor` to rank `to`.
  ///
  /// @param tag  in [0, 2^28); messages of different tags may overtake each other
  std::unique_ptr<Work> send(const torch::Tensor& tensor, int64_t to, int64_t tag,
                             int32_t mode = kChecked);
  /// Receives `tensor` from rank `from` with this tag.
  std::unique_ptr<Work> receive(const torch::Tensor& tensor, int64_t from, int64_t tag,
                                int32_t mode = kChecked);

 private:
  friend class GradientReducer;  // shares the group, and may outlive this object
  class Impl;
  explicit ProcessGroup(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace torchfeed
