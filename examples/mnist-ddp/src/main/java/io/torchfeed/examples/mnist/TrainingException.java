// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import org.jspecify.annotations.Nullable;

/** Something the user can mend: the message says all, so no stack trace is printed. */
final class TrainingException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  TrainingException(String message) {
    super(message);
  }

  TrainingException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
