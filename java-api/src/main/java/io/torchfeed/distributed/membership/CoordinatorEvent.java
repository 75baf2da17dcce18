// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import java.util.List;

/**
 * A change of a job, for its log.
 *
 * @param kind the kind of the event
 * @param generation the last generation that was formed; 0 before the first
 * @param text a sentence for the log
 * @param processes the names of the processes that it is about: in the order of their ranks for
 *     {@link Kind#FORMED} and {@link Kind#FINISHED}, the one process for {@link Kind#CONNECTED},
 *     {@link Kind#LOST} and {@link Kind#LEFT}, else empty
 */
public record CoordinatorEvent(Kind kind, int generation, String text, List<String> processes) {
  /**
   * Creates an event.
   *
   * @param kind the kind of the event
   * @param generation the last generation that was formed; 0 before the first
   * @param text a sentence for the log
   * @param processes the names of the processes that it is about
   * @throws NullPointerException if a value is null
   */
  public CoordinatorEvent {
    requireNonNull(kind, "kind");
    requireNonNull(text, "text");
    processes = Checks.copyOf("processes", processes);
  }

  /** Returns the kind and the sentence. */
  @Override
  public String toString() {
    return kind + " " + text;
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

    /**
     * A connection was refused: a stranger, or a member of another job. After the first ones within
     * some seconds, the others are counted in one event.
     */
    REFUSED
  }
}
