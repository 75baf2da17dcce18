// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static java.util.Objects.requireNonNull;

/** A value that cannot be an element; those who know its place make a {@link ParquetException}. */
final class UnfitValueException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String problem;

  UnfitValueException(String problem) {
    super(problem, null, false, false);
    this.problem = requireNonNull(problem, "problem");
  }

  String problem() {
    return problem;
  }
}
