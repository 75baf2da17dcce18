// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Thrown when a file cannot be read as it was planned. */
public final class TextFileException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The kind of problem with a file. */
  public enum Problem {
    /** The file does not exist, or no longer exists. */
    MISSING,
    /** The file cannot be opened, or reading it fails. */
    UNREADABLE,
    /** The file has fewer bytes than planned. */
    SHRUNK,
    /** The file has more bytes than planned. */
    GROWN,
    /** The file has as many bytes as planned, but has been written to since. */
    CHANGED
  }

  /** The path of the file; not serializable, unlike its text. */
  private final transient @Nullable Path path;

  /** The path as text. */
  private final String name;

  /** The kind of problem. */
  private final Problem problem;

  TextFileException(Path path, Problem problem, String detail) {
    super(path + " " + detail);
    this.path = path;
    name = path.toString();
    this.problem = problem;
  }

  TextFileException(Path path, Problem problem, String detail, Throwable cause) {
    super(path + " " + detail, cause);
    this.path = path;
    name = path.toString();
    this.problem = problem;
  }

  /**
   * Returns the path of the file.
   *
   * @return its path, whether or not it exists
   */
  public Path path() {
    return path == null ? Path.of(name) : path;
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
