// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

/** The operation that combines the ranks' values. */
public enum ReduceOp {
  /** The sum over the ranks. */
  SUM(io.torchfeed.bindings.ProcessGroup.kSum),
  /** The sum divided by the number of ranks; floating-point dtypes only. */
  MEAN(io.torchfeed.bindings.ProcessGroup.kMean),
  /** The product over the ranks. */
  PRODUCT(io.torchfeed.bindings.ProcessGroup.kProduct),
  /** The minimum over the ranks. */
  MIN(io.torchfeed.bindings.ProcessGroup.kMin),
  /** The maximum over the ranks. */
  MAX(io.torchfeed.bindings.ProcessGroup.kMax),
  /** The bitwise AND over the ranks; integer dtypes only. */
  BAND(io.torchfeed.bindings.ProcessGroup.kBand),
  /** The bitwise OR over the ranks; integer dtypes only. */
  BOR(io.torchfeed.bindings.ProcessGroup.kBor),
  /** The bitwise XOR over the ranks; integer dtypes only. */
  BXOR(io.torchfeed.bindings.ProcessGroup.kBxor);

  private final int code;

  ReduceOp(int code) {
    this.code = code;
  }

  /** Returns the code of the operation in {@code torchfeed/process_group.h}. */
  int code() {
    return code;
  }
}
