// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import org.jspecify.annotations.Nullable;

/** What the user can mend: shown as one line. */
final class GraphException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  GraphException(String message) {
    super(message);
  }

  GraphException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
