// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

/**
 * Thrown when a process can no longer take part in its job; {@link #reason} says why.
 *
 * <p>The state in the memory of this process is whole: it may be saved.
 */
public final class MembershipEndedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** Why a membership has ended. */
  public enum Reason {
    /** The ranks have completed their training. */
    FINISHED,

    /** The job has failed: too few ranks were left for too long. */
    FAILED,

    /** The coordinator has expelled this process, which gave no sign of life in time. */
    EXPELLED,

    /** The coordinator has died, was closed, or gives no sign of life. */
    COORDINATOR_LOST,

    /** This process has left. */
    LEFT
  }

  /** See {@link #reason()}. */
  private final Reason reason;

  /** See {@link #isLastHolder()}. */
  private final boolean isLastHolder;

  MembershipEndedException(Reason reason, String text) {
    this(reason, text, false);
  }

  private MembershipEndedException(Reason reason, String text, boolean isLastHolder) {
    super(text);
    this.reason = reason;
    this.isLastHolder = isLastHolder;
  }

  static MembershipEndedException by(Message.Ended ended) {
    String text = ended.reason() == Reason.EXPELLED ? "expelled by the coordinator: " : "";
    return new MembershipEndedException(ended.reason(), text + ended.text(), ended.isLastHolder());
  }

  static MembershipEndedException lost(String reason) {
    return new MembershipEndedException(
        Reason.COORDINATOR_LOST, "the coordinator is lost: " + reason);
  }

  /** Returns this exception with the stack of the thread that calls this. */
  MembershipEndedException again() {
    return new MembershipEndedException(reason, String.valueOf(getMessage()), isLastHolder);
  }

  /**
   * Returns why the membership has ended.
   *
   * @return the reason
   */
  public Reason reason() {
    return reason;
  }

  /**
   * Returns whether this process has left as it asked to, and no other one of the job holds the
   * state of the training: it is lost unless this process saves it.
   *
   * @return true for at most one process at a time
   */
  public boolean isLastHolder() {
    return isLastHolder;
  }
}
