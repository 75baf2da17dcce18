// SPDX-License-Identifier: Apache-2.0
#include "torch/group/watched_backend.h"

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "torch/flight/future_work.h"
#include "torch/flight/peer_messages.h"
#include "torch/group/rank_call.h"

namespace torchfeed::detail {
namespace {

class WatchedBackend : public c10d::Backend {
 public:
  WatchedBackend(c10::intrusive_ptr<c10d::Backend> backend, InFlight& in_flight, bool is_on_device,
                 bool passes_down, c10::intrusive_ptr<c10d::Backend> host = nullptr)
      : Backend(backend->getRank(), backend->getSize()),
        backend_(std::move(backend)),
        in_flight_(in_flight),
        is_on_device_(is_on_device),
        passes_down_(passes_down),
        host_(std::move(host)) {}

  const std::string getBackendName() const override { return backend_->getBackendName(); }

  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    if (passes_down_ && tensors.size() == 1 && tensors[0].layout() == at::kStrided &&
        tensors[0].is_contiguous()) {
      if (tensors[0].numel() > 0) {
        pass_down_from(options.rootRank, tensors[0]);
      }
      return done(tensors);
    }
    return watched([&] { return backend_->broadcast(tensors, options); },
                   {Needs::Pattern::kTree, options.rootRank});
  }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    auto reduced = apart(tensors);
    return watched([&] { return backend_->allreduce(reduced, options); });
  }

  c10::intrusive_ptr<c10d::Work> allreduce_sparse(std::vector<at::Tensor>& tensors,
                                                  const c10d::AllreduceOptions& options) override {
    return host_ ? host_->allreduce_sparse(tensors, options)
                 : Backend::allreduce_sparse(tensors, options);  // refuses it
  }

  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs,
                                           const c10d::AllgatherOptions& options) override {
    return watched([&] { return backend_->allgather(outputs, inputs, options); });
  }

 private:
  void pass_down_from(int64_t root, const at::Tensor& tensor) {
    try {
      pass_down(*backend_, in_flight_, as_bytes(tensor), root);
    } catch (const std::exception&) {
      if (in_flight_.is_aborted()) {
        InFlight::throw_aborted();
      }
      throw;
    }
  }

  static c10::intrusive_ptr<c10d::Work> done(const std::vector<at::Tensor>& tensors) {
    auto future =
        c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
    future->markCompleted(c10::IValue(tensors));
    return c10::make_intrusive<FutureWork>(std::move(future));
  }

  /// Returns the same values, but tensors of their own if they are sparse: their result, which the
  /// work returns, would else be written into the caller's, also once `InFlight` has ended the
  /// operation.
  static std::vector<at::Tensor> apart(const std::vector<at::Tensor>& tensors) {
    std::vector<at::Tensor> apart;
    for (const auto& tensor : tensors) {
      apart.push_back(tensor.is_sparse() ? tensor.detach() : tensor);
    }
    return apart;
  }

  c10::intrusive_ptr<c10d::Work> watched(const InFlight::Start& start, Needs needs = {}) {
    return is_on_device_ ? in_flight_.watched_on_device(start, needs)
                         : in_flight_.watched(start(), needs);
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
  InFlight& in_flight_;
  bool is_on_device_;
  bool passes_down_;
  c10::intrusive_ptr<c10d::Backend> host_;  // for operations that the device's lacks; may be null
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> watched_backend(c10::intrusive_ptr<c10d::Backend> backend,
                                                  InFlight& in_flight, bool passes_down) {
  return c10::make_intrusive<WatchedBackend>(std::move(backend), in_flight, false, passes_down);
}

c10::intrusive_ptr<c10d::Backend> watched_device_backend(c10::intrusive_ptr<c10d::Backend> backend,
                                                         c10::intrusive_ptr<c10d::Backend> host,
                                                         InFlight& in_flight) {
  return c10::make_intrusive<WatchedBackend>(std::move(backend), in_flight, true, false,
                                             std::move(host));
}

}  // namespace torchfeed::detail
