// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static java.util.Objects.requireNonNull;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a thread is interrupted while it waits for the other ranks in an operation of a
 * {@link ProcessGroup}, or of a model on it. The thread stays interrupted.
 *
 * <p>The other ranks cannot complete the operation, so the group has been aborted, as by {@link
 * ProcessGroup#abort}: theirs throw {@link PeerLostException}, and later ones of this rank {@link
 * IllegalStateException}. Only while the ranks of a {@linkplain ProcessGroup#subgroup sub-group}
 * meet, or while the thread waits for a value of the {@linkplain ProcessGroup#store store}, the
 * group stays as it is; one that forms does not come about.
 */
public final class CollectiveInterruptedException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception for an operation, whose group was aborted.
   *
   * @param operation its name, for example {@code backward}
   * @param cause the failure of the operation itself; null if it had none
   */
  @SuppressWarnings("exports") // the annotation is not needed at run time
  public CollectiveInterruptedException(String operation, @Nullable Throwable cause) {
    super(
        "the thread was interrupted during "
            + requireNonNull(operation, "operation")
            + ", and ProcessGroup was aborted; close it, and join the ranks again",
        cause);
  }

  private CollectiveInterruptedException(Throwable cause, String message) {
    super(message, cause);
  }

  /** Returns the exception for the wait for the ranks of a sub-group. */
  static CollectiveInterruptedException ofSubgroup(Throwable cause) {
    return new CollectiveInterruptedException(
        cause,
        "the thread was interrupted while the ranks of a sub-group met; it was not formed, and"
            + " ProcessGroup is as before");
  }

  /**
   * Returns the exception for a wait outside of operations: of a group that forms, or of its store.
   *
   * @param cause the interrupt
   * @return the exception
   */
  public static CollectiveInterruptedException ofWait(InterruptedException cause) {
    return new CollectiveInterruptedException(
        requireNonNull(cause, "cause"),
        "the thread was interrupted while it waited for the other ranks");
  }
}
