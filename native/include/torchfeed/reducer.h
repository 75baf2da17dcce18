// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torchfeed/exchange_options.h"
#include "torchfeed/export.h"
#include "torchfeed/process_group.h"
#include "torchfeed/reducer_state.h"

namespace torchfeed {

/// The treatment of gradients and buffers; compared between the ranks.
struct TORCHFEED_API ReducerOptions {
  /// The moments at which the buffers of rank 0 are copied to the other ranks; with `kOff`, none,
  /// not even the creation of the reducer.
  enum BufferMode : int { kOff, kOnRequest, kBeforeForward, kAfterBackward, kBufferModeCount };

  int64_t first_bucket_bytes = int64_t{1} << 20;
  int64_t bucket_bytes = int64_t{25} << 20;
  /// The sizes of the buckets in their order, one per line, also in the first pass; further buckets
  /// have the last size. Empty: the two sizes above.
  std::string bucket_bytes_list;
  /// Set if parameters may receive no gradient in a backward pass; costs one more all-reduce.
  bool find_unused_parameters = false;
  /// Set if each backward pass uses the parameters that the first one used.
  bool static_graph = false;
  /// Set if gradients are views of the buckets, which saves a copy of the gradients.
  bool gradient_as_bucket_view = false;
  /// Set if each backward pass has a weight: gradients are then means weighted by
  /// them, not means over the ranks.
  bool weighted_losses = false;
  int buffer_mode = kAfterBackward;
  ExchangeOptions exchange;
  /// The parameters whose gradients are sparse, one name per line.
  std::string sparse_names;
  /// The parameters and buffers that the caller has left out, one name per line.
  std::string ignored_names;
};

/// Averages the gradients of one model over the ranks, in buckets, while the backward pass is still
/// running.
///
/// After every backward pass that synchronizes, however it was started, each gradient is the mean
/// over the ranks. A backward pass that fails halfway leaves the reducer unusable: all later ones
/// fail with the first reason.
class TORCHFEED_API GradientReducer {
 public:
  /// Compares the options and the layouts of the parameters and buffers of all ranks, then copies
  /// the values of rank 0 to the others. With Python ranks, compares only the shapes and strides of
  /// the trained parameters, as they do, and needs the buffer mode `kOff` or `kBeforeForward`.
  ///
  /// @param parameter_names  one name per line, in the order of `parameters`
  /// @param buffer_names  one name per line, in the order of `buffers`
  [[nodiscard]] static std::unique_ptr<GradientReducer> create(
      const ProcessGroup& group, const std::string& parameter_names,
      const std::vector<torch::Tensor>& parameters, const std::string& buffer_names,
      const std::vector<torch::Tensor>& buffers, const ReducerOptions& options);
  GradientReducer(const GradientReducer&) = delete;
  ~GradientReducer();

  /// Returns whether `exchange_over` must be called before the first backward pass; if the options
  /// have more than one rank per node, `exchange_between_nodes`.
  [[nodiscard]] bool needs_exchange_group() const;
  /// Sets the group through which gradients are exchanged; of the same ranks, and used by nothing
  /// else. The reducer shares it, and it is aborted together with the reducer's own.
  void exchange_over(const ProcessGroup& group);
  /// Like `exchange_over`, for an exchange between nodes.
  ///
  /// @param node  the ranks of this rank's node
  /// @param leaders  the first rank of each node; null on the other ranks
  void exchange_between_nodes(const ProcessGroup& group, const ProcessGroup& node,
                              const ProcessGroup* leaders);

  /// Continues in another group, whose other ranks call this function or `create` with the same
  /// options and layout; a collective operation. The values of the lowest rank that calls this
  /// function are copied to the others: parameters, buffers, and the state of the exchange that all
  /// ranks share. Buckets are formed again, and a static graph is recorded again, since a rank that
  /// joins has no others. Also after a backward pass that failed, and when the group before is
  /// closed or aborted.
  ///
  /// Fails between the passes of a step or during uneven inputs, and if QAdam's group gets or loses
  /// its second rank. If it fails after the comparison, the reducer is unusable until it is
  /// rebound. `needs_exchange_group` then holds again.
  void rebind(const ProcessGroup& group);

  /// Multiplies the momenta that the exchange keeps by a factor, between backward passes:
  /// the scale of the losses has changed by it.
  void rescale_exchange(double factor);

  /// Sets whether the backward passes that begin from now on average gradients; otherwise they
  /// accumulate gradients on this rank, to be averaged by the next pass that averages.
  void set_synchronized(bool synchronized);
  /// Returns whether backward passes average gradients.
  [[nodiscard]] bool is_synchronized() const;
  /// Prepares a forward pass in training: the first one after a backward pass forms the buckets
  /// again, and with `kBeforeForward` the buffers of rank 0 are copied, unless the previous forward
  /// pass was not synchronized. While gradients are disabled, no effect, except that with Python
  /// ranks, as in Python, the first such pass after a synchronized one copies the buffers.
  void before_forward();
  /// Runs the backward pass of a scalar and returns when all gradients are averaged.
  void backward(const torch::Tensor& loss);
  /// Like `backward`, with weighted losses. The sum of the gradients of `weight * loss`, also of
  /// those that have been accumulated, is divided by the sum of the weights of all ranks, which
  /// travels in a bucket.
  ///
  /// @param loss  the mean over the counted samples; not read if the weight is 0
  /// @param weight  a finite float of at least 0; of an average over only zeros, gradients are 0
  void backward(const torch::Tensor& loss, double weight);
  /// Averages the gradients that have been accumulated, as a synchronized backward pass does that
  /// adds nothing to them; a rank that has accumulated none contributes zeros.
  void average_accumulated();
  /// Clips the gradients of the trained parameters by `Gradients::clip`; returns their norm.
  double clip(double max_norm);
  /// Throws if an earlier backward pass failed, also one that `backward` did not run.
  void check_usable();
  /// Copies the buffers of rank 0 to the other ranks.
  void broadcast_buffers();

  /// Describes the options and the tensors, one per line; a state fits a reducer of the same
  /// layout.
  [[nodiscard]] std::string layout() const;
  /// Returns this rank's state after the last backward pass; a collective operation. Forms the
  /// buckets again if the next backward pass would.
  [[nodiscard]] ReducerState state();
  /// Continues from a state of the same rank, the same number of ranks and the same layout; to be
  /// called before the first backward pass. A state that is refused changes nothing.
  void restore(const ReducerState& state);

  /// Begins a time in which the ranks may run different numbers of synchronized backward passes; a
  /// collective operation, as are the three below.
  ///
  /// @param passes  how many this rank will run; -1 on all ranks if none knows
  /// @param divides_by_active  whether a gradient is the mean over the ranks that have an input,
  ///     rather than the sum of their gradients by the number of all ranks
  void begin_uneven_inputs(int64_t passes, bool divides_by_active);
  /// Announces one more backward pass of this rank, if passes are not counted; else, checks that it
  /// has one left.
  void announce();
  /// Takes part in a backward pass without input, once this rank has run all of its own: gradients
  /// become the other ranks'.
  ///
  /// @return whether there was one
  bool shadow();
  /// Ends that time. If ranks have passes left, the reducer is unusable from then on.
  void end_uneven_inputs();

  /// Returns the nanoseconds from the last gradient's arrival to the end of the reduction, summed
  /// over all backward passes.
  [[nodiscard]] int64_t reduction_nanos() const;
  /// Returns the nanoseconds from the start of the first bucket's reduction to the end of the last
  /// bucket's, summed over all backward passes.
  [[nodiscard]] int64_t communication_nanos() const;
  /// Returns the part of `communication_nanos` during which gradients were still being computed.
  [[nodiscard]] int64_t overlapped_nanos() const;
  /// Returns the number of backward passes that ended with all gradients averaged.
  [[nodiscard]] int64_t reductions() const;
  /// Returns the reason why the reducer is unusable; empty while it is usable.
  [[nodiscard]] std::string failure() const;

  /// Returns the number of buckets, 0 in a group of one rank.
  [[nodiscard]] int64_t bucket_count() const;
  /// Returns the names of the parameters in a bucket, one per line.
  [[nodiscard]] std::string bucket_parameters(int64_t bucket) const;
  /// Returns the bytes that a reduction of the bucket last had.
  [[nodiscard]] int64_t bucket_bytes(int64_t bucket) const;
  /// Returns the bytes that this rank sent in the bucket's last reduction, as counted by the
  /// algorithm.
  [[nodiscard]] int64_t bucket_sent_bytes(int64_t bucket) const;
  /// Returns the number of reductions of the bucket since the buckets were formed.
  [[nodiscard]] int64_t bucket_reductions(int64_t bucket) const;
  /// Returns the nanoseconds of those reductions.
  [[nodiscard]] int64_t bucket_nanos(int64_t bucket) const;

  [[nodiscard]] int64_t parameter_count() const;
  [[nodiscard]] std::string parameter_name(int64_t index) const;
  /// Returns the bytes of a parameter in row-major order, as `uint8 [bytes]`.
  [[nodiscard]] torch::Tensor parameter_bytes(int64_t index) const;

 private:
  class Impl;
  explicit GradientReducer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace torchfeed
