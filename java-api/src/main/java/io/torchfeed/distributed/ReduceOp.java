// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.bindings.NativeProcessGroup;

/** The operation that combines the ranks' values. */
public enum ReduceOp {
  /** The sum over the ranks. */
  SUM(NativeProcessGroup.kSum),
  /** The sum divided by the number of ranks; floating-point dtypes only. */
  MEAN(NativeProcessGroup.kMean),
  /** The product over the ranks. */
  PRODUCT(NativeProcessGroup.kProduct),
  /** The minimum over the ranks. */
  MIN(NativeProcessGroup.kMin),
  /** The maximum over the ranks. */
  MAX(NativeProcessGroup.kMax),
  /** The bitwise AND over the ranks; integer dtypes only. */
  BAND(NativeProcessGroup.kBand),
  /** The bitwise OR over the ranks; integer dtypes only. */
  BOR(NativeProcessGroup.kBor),
  /** The bitwise XOR over the ranks; integer dtypes only. */
  BXOR(NativeProcessGroup.kBxor);

  private final int code;

  ReduceOp(int code) {
    this.code = code;
  }

  /** Returns the code of the operation in {@code torchfeed/process_group.h}. */
  int code() {
    return code;
  }
}
