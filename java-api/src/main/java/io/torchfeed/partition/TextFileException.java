// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.nio.file.Path;

/** A file that cannot be read as it was planned. */
public final class TextFileException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What happened to a file. */
  public enum Problem {
    /** There is no such file, or no longer. */
    MISSING,
    /** It cannot be opened, or reading it fails. */
    UNREADABLE,
    /** It has fewer bytes than were planned. */
    SHRUNK,
    /** It has more bytes than were planned. */
    GROWN,
    /** It has as many bytes as were planned, but was written since. */
    CHANGED
  }

  /** Where the file lies or should lie. */
  private final String path;

  /** What happened to it. */
  private final Problem problem;

  TextFileException(Path path, Problem problem, String detail) {
    super(path + " " + detail);
    this.path = path.toString();
    this.problem = problem;
  }

  TextFileException(Path path, Problem problem, String detail, Throwable cause) {
    super(path + " " + detail, cause);
    this.path = path.toString();
    this.problem = problem;
  }

  /**
   * The file.
   *
   * @return where it lies or should lie
   */
  public Path path() {
    return Path.of(path);
  }

  /**
   * What happened to it.
   *
   * @return the kind of problem
   */
  public Problem problem() {
    return problem;
  }
}
