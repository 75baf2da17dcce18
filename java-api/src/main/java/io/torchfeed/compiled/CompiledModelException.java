// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.compiled;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Thrown when a package of a compiled model cannot be opened, or when its code fails. */
public final class CompiledModelException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The kind of problem. */
  public enum Problem {
    /** There is no such file. */
    MISSING,
    /** The file cannot be opened, or reading it fails. */
    UNREADABLE,
    /** The content is truncated or malformed, or differs from its checksums. */
    DAMAGED,
    /** The content is of another format, or for another device, system, processor or libtorch. */
    MISMATCH,
    /** The code of the model fails. */
    FAILED
  }

  /** The path of the file; not serializable, unlike its text. */
  private final transient @Nullable Path path;

  /** The path as text. */
  private final String name;

  /** The kind of problem. */
  private final Problem problem;

  CompiledModelException(Path path, Problem problem, String detail) {
    this(path, problem, detail, null);
  }

  CompiledModelException(Path path, Problem problem, String detail, @Nullable Throwable cause) {
    super(path + ": " + detail, cause);
    this.path = path;
    name = path.toString();
    this.problem = problem;
  }

  /**
   * Returns the file.
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
