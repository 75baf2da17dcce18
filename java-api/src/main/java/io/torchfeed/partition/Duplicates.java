// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

/** What happens to an edge that is there several times. */
public enum Duplicates {
  /** It counts once, with the weight that came last. */
  LAST,

  /** It counts once, with the sum of the weights, added in the order of their coming. */
  SUM,

  /** All are kept side by side, in the order of their coming. */
  KEEP,

  /** It is refused. */
  REFUSE
}
