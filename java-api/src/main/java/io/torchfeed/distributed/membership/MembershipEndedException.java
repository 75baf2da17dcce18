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

  MembershipEndedException(Reason reason, String text) {
    super(text);
    this.reason = reason;
  }

  static MembershipEndedException by(Message.Ended ended) {
    String text = ended.reason() == Reason.EXPELLED ? "expelled by the coordinator: " : "";
    return new MembershipEndedException(ended.reason(), text + ended.text());
  }

  static MembershipEndedException lost(String reason) {
    return new MembershipEndedException(
        Reason.COORDINATOR_LOST, "the coordinator is lost: " + reason);
  }

  /** Returns this exception with the stack of the thread that calls this. */
  MembershipEndedException again() {
    return new MembershipEndedException(reason, String.valueOf(getMessage()));
  }

  /**
   * Returns why the membership has ended.
   *
   * @return the reason
   */
  public Reason reason() {
    return reason;
  }
}
