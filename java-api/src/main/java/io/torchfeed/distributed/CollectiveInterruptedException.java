// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a thread is interrupted while it waits for the other ranks in an operation of a
 * {@link ProcessGroup}. The thread stays interrupted.
 *
 * <p>The other ranks cannot complete the operation, so the group has been aborted, as by {@link
 * ProcessGroup#abort}: theirs throw {@link PeerLostException}, and later ones of this rank {@link
 * IllegalStateException}. Only while the ranks of a {@linkplain ProcessGroup#subgroup sub-group}
 * meet, the group around stays as it is.
 */
public final class CollectiveInterruptedException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  private CollectiveInterruptedException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }

  /** Returns the exception for an operation; its group was aborted. */
  static CollectiveInterruptedException during(String operation, @Nullable Throwable cause) {
    return new CollectiveInterruptedException(
        "the thread was interrupted during "
            + operation
            + ", and ProcessGroup was aborted; close it, and join the ranks again",
        cause);
  }

  /** Returns the exception for the wait for the ranks of a sub-group. */
  static CollectiveInterruptedException ofSubgroup(Throwable cause) {
    return new CollectiveInterruptedException(
        "the thread was interrupted while the ranks of a sub-group met; it was not formed, and"
            + " ProcessGroup is as before",
        cause);
  }
}
