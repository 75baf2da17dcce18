// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.internal.Failures;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Thrown when a checkpoint cannot be written, is damaged, or is of another model. */
public final class CheckpointException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The kind of problem. */
  public enum Problem {
    /** There is no such file or folder, or no checkpoint in it. */
    MISSING,
    /** The file cannot be opened, or reading it fails. */
    UNREADABLE,
    /** The disk is full, the folder is read-only, or writing fails otherwise. */
    UNWRITABLE,
    /** The content is truncated or malformed, or differs from its digest. */
    DAMAGED,
    /** The content is whole, but of another model, optimizer or format. */
    MISMATCH
  }

  /** The path of the file or folder; not serializable, unlike its text. */
  private final transient @Nullable Path path;

  /** The path as text. */
  private final String name;

  /** The kind of problem. */
  private final Problem problem;

  CheckpointException(Path path, Problem problem, String detail) {
    this(path, problem, detail, null);
  }

  CheckpointException(Path path, Problem problem, String detail, @Nullable Throwable cause) {
    super(path + ": " + detail, cause);
    this.path = path;
    name = path.toString();
    this.problem = problem;
  }

  static CheckpointException unreadable(Path path, IOException e) {
    if (e instanceof NoSuchFileException) {
      return new CheckpointException(path, Problem.MISSING, "there is no such file", e);
    }
    return new CheckpointException(
        path, Problem.UNREADABLE, "it cannot be read: " + Failures.reason(e), e);
  }

  static CheckpointException unwritable(Path path, IOException e) {
    return new CheckpointException(
        path, Problem.UNWRITABLE, "it cannot be written: " + Failures.reason(e), e);
  }

  /**
   * Returns the file or folder.
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
