// SPDX-License-Identifier: Apache-2.0
#include "torchfeed/compiled_model.h"

#include <ATen/DynamicLibrary.h>
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner_cpu.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <cstdlib>
#include <exception>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include "torch/base/captured_errors.h"
#include "torch/base/guard.h"
#include "torch/base/live_count.h"

namespace torchfeed {
namespace {

/// Returns the first line from a position on.
std::string line_at(const std::string& text, size_t begin) {
  return text.substr(begin, text.find('\n', begin) - begin);
}

/// Returns why a library failed, by its own words and libtorch's; empty if they wrote nothing.
std::string reason_in(const std::string& written) {
  static constexpr std::string_view kError = "Error: ";
  static constexpr std::string_view kException = "Exception in aoti_torch: ";
  const size_t error = written.rfind(kError);
  const size_t exception = written.find(kException);
  std::string reason =
      error == std::string::npos ? line_at(written, 0) : line_at(written, error + kError.size());
  if (exception != std::string::npos) {
    reason += ": " + line_at(written, exception + kException.size());
  }
  return reason;
}

std::string line_of(const std::exception& e) {
  const auto* const error = dynamic_cast<const c10::Error*>(&e);
  return line_at(error == nullptr ? e.what() : error->what_without_backtrace(), 0);
}

/// libtorch's runner, with the number of inputs, and an owner of the inputs that the library has
/// not taken.
class Runner final : public torch::inductor::AOTIModelContainerRunnerCpu {
 public:
  explicit Runner(const std::string& library)
      : AOTIModelContainerRunnerCpu(library), inputs_(count_inputs()) {
    if (!getConstantNamesToDtypes().empty() && extract_constants_map(false).empty()) {
      throw Error(ErrorCode::kUnreadable, "its weights are not in its library");
    }
  }

  [[nodiscard]] size_t inputs() const { return inputs_; }

 protected:
  std::vector<at::Tensor> run_impl(std::vector<AtenTensorHandle>& handles, void* stream) override {
    try {
      return AOTIModelContainerRunnerCpu::run_impl(handles, stream);
    } catch (...) {
      for (AtenTensorHandle each : handles) {
        if (each != nullptr) {  // the library sets those that it takes to null
          aoti_torch_delete_tensor_object(each);
        }
      }
      throw;
    }
  }

 private:
  [[nodiscard]] size_t count_inputs() {
    size_t count = 0;
    auto* const function = reinterpret_cast<decltype(&AOTInductorModelContainerGetNumInputs)>(
        model_so_->sym("AOTInductorModelContainerGetNumInputs"));
    TORCH_CHECK(function(container_handle_, &count) == AOTI_RUNTIME_SUCCESS,
                "it does not tell its number of inputs");
    return count;
  }

  const size_t inputs_;
};

/// Makes the libraries check dtypes, shapes and strides. Each reads this once, at its first run.
void check_inputs() {
  static const int kResult = setenv("AOTI_RUNTIME_CHECK_INPUTS", "1", /*replace=*/1);
  TORCH_CHECK(kResult == 0, "the environment of this process has no room");
}

std::unique_ptr<Runner> load_runner(const std::string& library) {
  const CapturedErrors captured;
  try {
    check_inputs();
    return std::make_unique<Runner>(library);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    const bool has_reason = captured.text().find("Error: ") != std::string::npos;
    throw Error(ErrorCode::kUnreadable, has_reason ? reason_in(captured.text()) : line_of(e));
  }
}

}  // namespace

class CompiledModel::Impl {
 public:
  explicit Impl(const std::string& library) : runner_(load_runner(library)) {}

  [[nodiscard]] size_t inputs() const { return runner_->inputs(); }

  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) {
    if (inputs.size() != runner_->inputs()) {
      throw Error(ErrorCode::kInvalidArgument, "the model takes " +
                                                   std::to_string(runner_->inputs()) +
                                                   " inputs, got " + std::to_string(inputs.size()));
    }
    std::vector<at::Tensor> detached;
    for (const at::Tensor& input : inputs) {
      if (!input.defined() || !input.is_cpu() || input.layout() != at::kStrided) {
        throw Error(ErrorCode::kInvalidArgument, "input " + std::to_string(detached.size()) +
                                                     " must be a dense tensor on the CPU");
      }
      detached.push_back(input.detach());
    }
    // The container of a library forgets to wake a waiting run after one that fails.
    const std::lock_guard turn(mutex_);
    const CapturedErrors captured;
    try {
      return runner_->run(detached);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      throw failure(captured.text(), line_of(e));
    }
  }

 private:
  static Error failure(const std::string& written, const std::string& thrown) {
    const std::string reason = written.empty() ? thrown : reason_in(written);
    if (reason.find("DefaultCPUAllocator: ") != std::string::npos) {
      return {ErrorCode::kOutOfMemory, reason};
    }
    const bool is_input = reason.rfind("input_handles[", 0) == 0;
    return {is_input ? ErrorCode::kInvalidArgument : ErrorCode::kInternal, reason};
  }

  LiveCount live_;
  std::mutex mutex_;
  const std::unique_ptr<Runner> runner_;
};

CompiledModel::CompiledModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

CompiledModel::~CompiledModel() = default;

std::unique_ptr<CompiledModel> CompiledModel::load(const std::string& library) {
  return guarded([&] {
    return std::unique_ptr<CompiledModel>(new CompiledModel(std::make_unique<Impl>(library)));
  });
}

std::vector<at::Tensor> CompiledModel::run(const std::vector<at::Tensor>& inputs) {
  return guarded([&] { return impl_->run(inputs); });
}

int64_t CompiledModel::inputs() const { return static_cast<int64_t>(impl_->inputs()); }

}  // namespace torchfeed
