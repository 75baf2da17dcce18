// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

/** Thrown for bytes that are not a whole image of a supported kind; the message says why. */
public final class ImageException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  ImageException(String problem) {
    super(problem);
  }

  /**
   * Creates an exception.
   *
   * @param problem the reason
   * @param cause the exception that it explains
   */
  ImageException(String problem, Throwable cause) {
    super(problem, cause);
  }
}
