// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

/** What happens to a carriage return before the newline. */
public enum CarriageReturn {
  /** One at the end of a line is no part of it, so that files from Windows read as others. */
  REMOVE,

  /** It is part of the line. */
  KEEP
}
