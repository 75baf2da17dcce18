// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

/**
 * The way of a row with a value that no tensor can have: a null, an array of another length, an
 * image that cannot be decoded, or a category that is not in the vocabulary. Named after {@code
 * handleInvalid} in Spark ML.
 */
public enum InvalidRows {
  /** The job ends, and the message has the row, the column and the value. */
  ERROR,

  /** The row is left out. A warning has the number of such rows and the first of them. */
  SKIP,

  /** Its output is null when a model is applied; a training leaves it out, as {@link #SKIP}. */
  KEEP
}
