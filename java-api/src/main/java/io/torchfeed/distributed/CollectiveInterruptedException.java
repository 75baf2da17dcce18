// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a thread is interrupted while it waits for the other ranks in an operation of a
 * {@link ProcessGroup}. The thread stays interrupted.
 *
 * <p>The other ranks cannot complete the operation, so the group has been aborted, as by {@link
 * ProcessGroup#abort}: theirs throw {@link PeerLostException}, and later ones of this rank {@link
 * IllegalStateException}.
 */
public final class CollectiveInterruptedException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  CollectiveInterruptedException(String operation, @Nullable Throwable cause) {
    super(
        "the thread was interrupted during "
            + operation
            + ", and ProcessGroup was aborted; close it, and join the ranks again",
        cause);
  }
}
