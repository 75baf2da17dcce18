// SPDX-License-Identifier: Apache-2.0

/// An NCCL that is too old for libtorch: version 2.19.6.
extern "C" __attribute__((visibility("default"))) int ncclGetVersion(int* version) {
  *version = 21906;
  return 0;
}
