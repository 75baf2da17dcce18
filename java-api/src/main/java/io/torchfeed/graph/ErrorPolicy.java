// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

/** The policy for malformed lines: lines that break a rule. */
public enum ErrorPolicy {
  /** Reading fails with a {@link io.torchfeed.text.LineException}, on all ranks. */
  FAIL,

  /** The line is skipped and counted. */
  SKIP,

  /** The line is skipped and counted, and the first 10,000 of each rank are also listed. */
  COLLECT
}
