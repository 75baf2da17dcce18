// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.planner;

/** An error in the input; the message is for the user. */
final class PlannerException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  PlannerException(String message) {
    super(message);
  }

  PlannerException(String message, Throwable cause) {
    super(message, cause);
  }
}
