// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

/** Receives edges, or the cells of a matrix, one by one. */
@FunctionalInterface
public interface EdgeVisitor {
  /**
   * One edge.
   *
   * @param from the local number of the first id, or the row
   * @param to the local number of the second id, or the column
   * @param weight the weight, or the value
   */
  void edge(int from, int to, double weight);
}
