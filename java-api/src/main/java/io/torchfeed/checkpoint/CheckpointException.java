// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.Quotes;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.AccessDeniedException;
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
      return new CheckpointException(
          path, Problem.MISSING, "there is no such file; restore it, or name another one", e);
    }
    String cure = e instanceof AccessDeniedException ? "; allow this user to read it" : "";
    return new CheckpointException(
        path, Problem.UNREADABLE, "it cannot be read: " + Failures.reason(e) + cure, e);
  }

  /** Returns the exception for a tensor that libtorch did not make. */
  static RuntimeException noMemory(Path path, String tensor, long bytes, RuntimeException e) {
    RuntimeException cause = NativeException.translate(e);
    String text = String.valueOf(cause.getMessage());
    if (!(cause instanceof NativeException)
        || !(text.contains("allocate memory") || text.contains("bad_alloc"))) {
      return cause;
    }
    return new CheckpointException(
        path,
        Problem.UNREADABLE,
        ("there is no memory for the %d bytes of the tensor %s; free memory or raise the limit of"
                + " the process")
            .formatted(bytes, Quotes.shortened(tensor)),
        cause);
  }

  /** Returns whether the reason is not the file, so that no other one is to be taken instead. */
  boolean isOfEveryFile() {
    return problem == Problem.MISMATCH
        || getCause() instanceof ClosedByInterruptException
        || getCause() instanceof NativeException;
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
