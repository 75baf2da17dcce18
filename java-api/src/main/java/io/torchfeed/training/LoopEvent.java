// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

/**
 * An event of a {@link TrainingLoop} on this rank, for its log.
 *
 * @param kind the kind of the event
 * @param text a sentence for the log
 */
public record LoopEvent(Kind kind, String text) {
  /**
   * Creates an event.
   *
   * @param kind the kind of the event
   * @param text a sentence for the log
   * @throws NullPointerException if a value is null
   */
  public LoopEvent {
    requireNonNull(kind, "kind");
    requireNonNull(text, "text");
  }

  /** Returns the kind and the sentence. */
  @Override
  public String toString() {
    return kind + " " + text;
  }

  /** The kind of an event. */
  public enum Kind {
    /** Elastic ranks are awaited: the first ones, or those that continue after a loss. */
    WAITING,

    /** A newer checkpoint was not loaded, since a file of it is damaged or missing. */
    SKIPPED,

    /** The training continues from a checkpoint. */
    RESUMED,

    /**
     * The training continues with another batch size of all ranks together, another number of
     * batches in a step, or another seed than its checkpoint was saved with.
     */
    CHANGED,

    /** The checkpoint is of a training whose epochs are all complete: nothing is left to do. */
    NOTHING_LEFT,

    /** A step changed nothing, since a gradient is not finite. */
    NOT_FINITE,

    /** The model was evaluated. */
    EVALUATED,

    /** The training ends after a step, as it was asked to, or since a limit is reached. */
    STOPPED
  }
}
