// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

/** The kind of the ids in lines. */
public enum IdKind {
  /**
   * Whole numbers in [0, 2<sup>64</sup> - 1]; numbers of at least 2<sup>63</sup> are negative
   * longs.
   */
  NUMBER,

  /** Any text in UTF-8, compared byte by byte. */
  TEXT
}
