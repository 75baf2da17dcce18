// SPDX-License-Identifier: Apache-2.0
// A library like one of AOTInductor, by the part of its interface that a runner calls. The model
// takes one vector and returns it. The environment variable TORCHFEED_STUB_MODEL names its fault.

#include <torch/csrc/inductor/aoti_runtime/interface.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <thread>

namespace {

int64_t containers = 0;

bool has_fault(std::string_view name) {
  const char* const fault = std::getenv("TORCHFEED_STUB_MODEL");
  return fault != nullptr && name == fault;
}

AOTIRuntimeError failure(const char* reason) {
  std::cerr << "Error: " << reason << std::endl;
  return AOTI_RUNTIME_FAILURE;
}

}  // namespace

extern "C" {

AOTIRuntimeError AOTInductorModelContainerCreateWithDevice(
    AOTInductorModelContainerHandle* container, size_t, const char*, const char*) {
  if (has_fault("create")) {
    return failure("there is no room for its weights");
  }
  ++containers;
  *container = reinterpret_cast<AOTInductorModelContainerHandle>(&containers);
  return AOTI_RUNTIME_SUCCESS;
}

AOTIRuntimeError AOTInductorModelContainerDelete(AOTInductorModelContainerHandle) {
  --containers;
  return AOTI_RUNTIME_SUCCESS;
}

AOTIRuntimeError AOTInductorModelContainerGetNumInputs(AOTInductorModelContainerHandle,
                                                       size_t* count) {
  *count = 1;
  return AOTI_RUNTIME_SUCCESS;
}

AOTIRuntimeError AOTInductorModelContainerGetNumOutputs(AOTInductorModelContainerHandle,
                                                        size_t* count) {
  *count = 1;
  return AOTI_RUNTIME_SUCCESS;
}

AOTIRuntimeError AOTInductorModelContainerGetNumConstants(AOTInductorModelContainerHandle,
                                                          size_t* count) {
  *count = has_fault("weights") ? 1 : 0;
  return AOTI_RUNTIME_SUCCESS;
}

AOTIRuntimeError AOTInductorModelContainerGetConstantName(AOTInductorModelContainerHandle, size_t,
                                                          const char** name) {
  *name = "weight";
  return AOTI_RUNTIME_SUCCESS;
}

AOTIRuntimeError AOTInductorModelContainerGetConstantOriginalFQN(AOTInductorModelContainerHandle,
                                                                 size_t, const char** name) {
  *name = "net.weight";
  return AOTI_RUNTIME_SUCCESS;
}

AOTIRuntimeError AOTInductorModelContainerGetConstantDtype(AOTInductorModelContainerHandle, size_t,
                                                           int32_t* dtype) {
  *dtype = aoti_torch_dtype_float32();
  return AOTI_RUNTIME_SUCCESS;
}

AOTIRuntimeError AOTInductorModelContainerExtractConstantsMap(AOTInductorModelContainerHandle,
                                                              AOTInductorConstantMapHandle, bool) {
  return AOTI_RUNTIME_SUCCESS;
}

AOTIRuntimeError AOTInductorModelContainerRun(AOTInductorModelContainerHandle,
                                              AtenTensorHandle* inputs, size_t,
                                              AtenTensorHandle* outputs, size_t,
                                              AOTInductorStreamHandle, AOTIProxyExecutorHandle) {
  int64_t dimensions = 0;
  aoti_torch_get_dim(inputs[0], &dimensions);
  const char* const checks = std::getenv("AOTI_RUNTIME_CHECK_INPUTS");
  if (dimensions != 1 && checks != nullptr && checks[0] == '1') {
    return failure("input_handles[0]: unmatched number of dimensions\n");
  }
  AtenTensorHandle taken = inputs[0];
  inputs[0] = nullptr;
  std::thread([] { std::cerr << "of another thread\n"; }).join();
  if (has_fault("run")) {
    aoti_torch_delete_tensor_object(taken);
    std::cerr << "[E1 shim.cc:1] Exception in aoti_torch: no such kernel\nframe #0: here\n";
    return failure("aoti_torch_kernel() API call failed");
  }
  if (has_fault("memory")) {
    aoti_torch_delete_tensor_object(taken);
    std::cerr << "[E1 shim.cc:1] Exception in aoti_torch: DefaultCPUAllocator: can't allocate\n";
    return failure("aoti_torch_empty_strided() API call failed");
  }
  outputs[0] = taken;
  return AOTI_RUNTIME_SUCCESS;
}
}
