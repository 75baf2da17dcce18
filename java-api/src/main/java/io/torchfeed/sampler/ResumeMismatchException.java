// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

/** A saved state belongs to another plan: it would go on in an order that nobody began. */
public final class ResumeMismatchException extends IllegalArgumentException {
  private static final long serialVersionUID = 1L;

  /** What differs. */
  private final String parameter;

  /** Its value in the state. */
  private final String saved;

  /** Its value in the plan. */
  private final String present;

  /**
   * A mismatch.
   *
   * @param parameter what differs
   * @param saved its value in the saved state
   * @param present its value in the plan that was to resume the state
   */
  public ResumeMismatchException(String parameter, String saved, String present) {
    super(
        "the state was saved with %s %s, but the plan has %s; resume it with the plan that saved it"
            .formatted(parameter, saved, present));
    this.parameter = parameter;
    this.saved = saved;
    this.present = present;
  }

  /**
   * What differs: the name of the first parameter that does, {@code kind} for the kind of plan, or
   * {@code order digest} if the parameters are equal and yet the orders are not.
   *
   * @return the name
   */
  public String parameter() {
    return parameter;
  }

  /**
   * Its value in the saved state.
   *
   * @return the value, {@code none} if the saved plan did not have the parameter
   */
  public String saved() {
    return saved;
  }

  /**
   * Its value in the plan that was to resume the state.
   *
   * @return the value, {@code none} if the plan does not have the parameter
   */
  public String present() {
    return present;
  }
}
