// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

/** What happens at a line that breaks a rule. */
public enum ErrorPolicy {
  /** Reading ends with a {@link LineException}, on all ranks. */
  FAIL,

  /** The line is left out and counted. */
  SKIP,

  /** The line is left out, counted and listed: the first 10,000 of a rank. */
  COLLECT
}
