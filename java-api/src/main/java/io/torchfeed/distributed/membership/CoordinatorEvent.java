// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static java.util.Objects.requireNonNull;

/**
 * A change of a job, for its log.
 *
 * @param kind the kind of the event
 * @param generation the last generation that was formed; 0 before the first
 * @param text a sentence for the log
 */
public record CoordinatorEvent(Kind kind, int generation, String text) {
  /**
   * Creates a value of its components.
   *
   * @param kind the kind of the event
   * @param generation the last generation that was formed; 0 before the first
   * @param text a sentence for the log
   */
  public CoordinatorEvent {
    requireNonNull(kind, "kind");
    requireNonNull(text, "text");
  }

  /** The kind of an event. */
  public enum Kind {
    /** A process has connected. */
    CONNECTED,

    /** A generation was formed. */
    FORMED,

    /** The ranks were asked to meet after a step, since one comes or leaves. */
    PAUSED,

    /** A generation ended before that, since a rank was lost or failed. */
    BROKEN,

    /** A process was lost: it died, failed, or gave no sign of life. */
    LOST,

    /** A process has left as planned. */
    LEFT,

    /** Training has been completed by all ranks. */
    FINISHED,

    /** The job has failed: too few ranks were left for too long. */
    FAILED,

    /** A connection was refused: a stranger, or a member of another job. */
    REFUSED
  }
}
