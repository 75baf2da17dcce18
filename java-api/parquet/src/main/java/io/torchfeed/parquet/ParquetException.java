// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import static java.util.Objects.requireNonNull;

import org.jspecify.annotations.Nullable;

/** Thrown when Parquet files cannot be read as rows, or their rows cannot be stored. */
public final class ParquetException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The kind of problem. */
  public enum Problem {
    /** A file cannot be read, or is no Parquet file, encrypted or damaged. */
    FILE,
    /** A file is compressed by a codec whose library is missing. */
    CODEC,
    /** A file has no column that is asked for, or one that cannot be a tensor. */
    SCHEMA,
    /** A value does not fit: a null, a list of another length, a number out of range. */
    VALUE,
    /** A file is another one than when its footer was read. */
    CHANGED,
    /** The folder has other rows than those to be stored, or its files are damaged. */
    OTHER_ROWS,
    /** The folder cannot be read or written, for example because the disk is full. */
    FOLDER
  }

  /** The kind of problem. */
  private final Problem problem;

  ParquetException(Problem problem, String message) {
    this(problem, message, null);
  }

  ParquetException(Problem problem, String message, @Nullable Throwable cause) {
    super(requireNonNull(message, "message"), cause);
    this.problem = requireNonNull(problem, "problem");
  }

  /** Returns the text of a failure, which some have none of. */
  static String reason(Throwable failure) {
    String message = failure.getMessage();
    return message == null || message.isEmpty() ? failure.getClass().getSimpleName() : message;
  }

  /**
   * Returns the kind of problem.
   *
   * @return the kind of problem
   */
  public Problem problem() {
    return problem;
  }
}
