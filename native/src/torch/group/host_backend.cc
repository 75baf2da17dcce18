// SPDX-License-Identifier: Apache-2.0
#include "torch/group/host_backend.h"

#include <ATen/ATen.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "torch/flight/future_work.h"

namespace torchfeed::detail {
namespace {

using c10::ivalue::Future;

class HostBackend : public c10d::Backend {
 public:
  explicit HostBackend(c10::intrusive_ptr<c10d::Backend> backend)
      : Backend(backend->getRank(), backend->getSize()), backend_(std::move(backend)) {}

  const std::string getBackendName() const override { return backend_->getBackendName(); }

  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor>& tensors,
                                           const c10d::BroadcastOptions& options) override {
    auto copies = on_host(tensors);
    return copied_back(backend_->broadcast(copies, options), tensors, copies);
  }

  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor>& tensors,
                                           const c10d::AllreduceOptions& options) override {
    auto copies = on_host(tensors);
    return copied_back(backend_->allreduce(copies, options), tensors, copies);
  }

  /// libtorch calls this for sparse tensors of a CUDA device, but `allreduce` for the host's.
  c10::intrusive_ptr<c10d::Work> allreduce_sparse(std::vector<at::Tensor>& tensors,
                                                  const c10d::AllreduceOptions& options) override {
    return allreduce(tensors, options);
  }

  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>>& outputs,
                                           std::vector<at::Tensor>& inputs,
                                           const c10d::AllgatherOptions& options) override {
    auto sent = on_host(inputs);
    std::vector<std::vector<at::Tensor>> received = {on_host(outputs.at(0))};
    return copied_back(backend_->allgather(received, sent, options), outputs[0], received[0]);
  }

 private:
  static std::vector<at::Tensor> on_host(const std::vector<at::Tensor>& tensors) {
    std::vector<at::Tensor> copies;
    for (const auto& tensor : tensors) {
      copies.push_back(tensor.cpu());
    }
    return copies;
  }

  /// Returns work that ends once the results, in `copies`, are back in `tensors` for the waiter.
  static c10::intrusive_ptr<c10d::Work> copied_back(const c10::intrusive_ptr<c10d::Work>& work,
                                                    const std::vector<at::Tensor>& tensors,
                                                    const std::vector<at::Tensor>& copies) {
    const c10::Device device = tensors.at(0).device();
    const c10::impl::VirtualGuardImpl guard(device.type());
    auto future = c10::make_intrusive<Future>(c10::ListType::create(c10::TensorType::get()),
                                              std::vector<c10::Device>{device});
    // The copies run in a thread of the backend, in the order of the caller's stream.
    work->getFuture()->addCallback(
        [future, tensors, copies, stream = guard.getStream(device)](Future& done) {
          if (done.hasError()) {
            future->setError(done.exception_ptr());
            return;
          }
          try {
            const at::NoGradGuard no_grad;
            const c10::StreamGuard on_stream(stream);
            for (size_t i = 0; i < tensors.size(); ++i) {
              at::Tensor tensor = tensors[i];
              // Of a sparse one, the result is a tensor of its own.
              tensor.copy_(tensor.is_sparse() ? done.value().toTensorVector().at(i) : copies[i]);
            }
            future->markCompleted(c10::IValue(tensors));
          } catch (...) {
            future->setError(std::current_exception());
          }
        });
    return c10::make_intrusive<FutureWork>(std::move(future));
  }

  c10::intrusive_ptr<c10d::Backend> backend_;
};

}  // namespace

c10::intrusive_ptr<c10d::Backend> host_backend(c10::intrusive_ptr<c10d::Backend> backend) {
  return c10::make_intrusive<HostBackend>(std::move(backend));
}

}  // namespace torchfeed::detail
