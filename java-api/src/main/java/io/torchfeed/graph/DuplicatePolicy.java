// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

/** The treatment of an edge that occurs several times. */
public enum DuplicatePolicy {
  /** The edge counts once, with the last weight received. */
  LAST,

  /** The edge counts once, with the sum of its weights, added in the order of arrival. */
  SUM,

  /** All occurrences are kept side by side, in the order of arrival. */
  KEEP,

  /** A repeated edge is refused with an exception. */
  REFUSE
}
