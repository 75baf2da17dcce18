// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

/** What the ids in lines are. */
public enum IdKind {
  /** Whole numbers in [0, 2<sup>64</sup> - 1]; those from 2<sup>63</sup> on are negative longs. */
  NUMBER,

  /** Any text in UTF-8, compared byte by byte. */
  TEXT
}
