// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

/** How {@link ProcessGroup#allReduce} joins the ranks' values, element by element. */
public enum ReduceOp {
  /** The sum over the ranks. */
  SUM(0),
  /** The sum divided by the number of ranks; floating dtypes only. */
  MEAN(1),
  /** The product over the ranks. */
  PRODUCT(2),
  /** The smallest value of any rank. */
  MIN(3),
  /** The largest value of any rank. */
  MAX(4);

  private final int code;

  ReduceOp(int code) {
    this.code = code;
  }

  /** The number of the operation in {@code torchfeed/process_group.h}. */
  int code() {
    return code;
  }
}
