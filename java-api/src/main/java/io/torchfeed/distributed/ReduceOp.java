// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

/** The operation that combines the ranks' values. */
public enum ReduceOp {
  /** The sum over the ranks. */
  SUM(0),
  /** The sum divided by the number of ranks; floating-point dtypes only. */
  MEAN(1),
  /** The product over the ranks. */
  PRODUCT(2),
  /** The minimum over the ranks. */
  MIN(3),
  /** The maximum over the ranks. */
  MAX(4),
  /** The bitwise AND over the ranks; integer dtypes only. */
  BAND(5),
  /** The bitwise OR over the ranks; integer dtypes only. */
  BOR(6),
  /** The bitwise XOR over the ranks; integer dtypes only. */
  BXOR(7);

  private final int code;

  ReduceOp(int code) {
    this.code = code;
  }

  /** Returns the code of the operation in {@code torchfeed/process_group.h}. */
  int code() {
    return code;
  }
}
