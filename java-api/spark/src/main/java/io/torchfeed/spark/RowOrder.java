// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

/** The order of a rank's rows before a sampler shuffles them. */
public enum RowOrder {
  /**
   * The order of the rows' hashes. It depends on the rows alone, so that a repeated stage has the
   * same order although a shuffle of Spark delivers rows as they arrive.
   */
  BY_CONTENT,
  /**
   * The order in which Spark delivers the rows: for files that are read without a shuffle, and for
   * partitions that are sorted. If a repeated stage gets another order, it is refused.
   */
  AS_DELIVERED
}
