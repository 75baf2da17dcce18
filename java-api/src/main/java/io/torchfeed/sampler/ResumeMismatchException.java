// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Quotes;
import java.util.List;

/**
 * Thrown when a saved state does not belong to this plan: resuming it would produce a different
 * order.
 */
public final class ResumeMismatchException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  static final String ORDER = "order digest";
  static final String PART_ENDED = "partEnded";

  /** The name of the difference. */
  private final String parameter;

  /** The value in the saved state. */
  private final String saved;

  /** The value in the plan. */
  private final String present;

  /**
   * Creates an exception for one mismatch.
   *
   * @param parameter the name of the difference
   * @param saved the value in the saved state
   * @param present the value in the plan that should resume the state
   */
  public ResumeMismatchException(String parameter, String saved, String present) {
    super(
        "the state was saved with %s %s, but the plan has %s; %s"
            .formatted(
                Quotes.shortened(requireNonNull(parameter, "parameter")),
                Quotes.shortened(requireNonNull(saved, "saved")),
                Quotes.shortened(requireNonNull(present, "present")),
                parameter.equals(ORDER)
                    ? "an order must follow from epoch, position and the parameters of the plan alone"
                    : "resume it with the plan that saved it"));
    this.parameter = parameter;
    this.saved = saved;
    this.present = present;
  }

  /**
   * Creates an exception that also names where the state was saved.
   *
   * @param source for example the folder of a checkpoint
   * @param mismatch the mismatch, which is the cause of this exception
   */
  public ResumeMismatchException(String source, ResumeMismatchException mismatch) {
    super(
        "cannot continue from %s: %s; to begin again, use another folder of checkpoints"
            .formatted(
                requireNonNull(source, "source"),
                requireNonNull(mismatch, "mismatch").getMessage()),
        mismatch);
    this.parameter = mismatch.parameter;
    this.saved = mismatch.saved;
    this.present = mismatch.present;
  }

  /**
   * Creates an exception for a state of a rank with a shorter part, at its end.
   *
   * @param segments the segments of the state
   * @param left the amount that is left to the rank that should resume the state
   */
  ResumeMismatchException(List<EpochSegment> segments, long left) {
    super(
        ("the state is of a rank with a shorter part of the epoch, which had ended at %s: the"
                + " later deliveries of the other ranks are not in it, and of the %d that are left"
                + " here, some might come twice; resume from the state of a rank with the longest"
                + " part, such as rank 0")
            .formatted(segments, left));
    this.parameter = PART_ENDED;
    this.saved = "true";
    this.present = "false";
  }

  /**
   * Returns the name of the difference: the first parameter that differs, {@code kind} for the kind
   * of plan, {@code order digest} if the parameters are equal but the orders are not, or {@code
   * partEnded} if the state is of a rank that cannot know how far this one was.
   *
   * @return the name
   */
  public String parameter() {
    return parameter;
  }

  /**
   * Returns the value in the saved state.
   *
   * @return the value, {@code none} if the saved plan did not have the parameter
   */
  public String saved() {
    return saved;
  }

  /**
   * Returns the value in the plan that should resume the state.
   *
   * @return the value, {@code none} if the plan does not have the parameter
   */
  public String present() {
    return present;
  }
}
