// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.util.Objects.requireNonNull;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Thrown when a source cannot be read. */
public final class ByteSourceException extends IOException {
  private static final long serialVersionUID = 1L;

  /** The name of the source. */
  private final String name;

  /** The kind of the failure. */
  private final Problem problem;

  /** The position of the first byte of the read. */
  private final long offset;

  /** The message without name and offset. */
  private final String reason;

  /** The kind of a failure. */
  public enum Problem {
    /** It does not exist. */
    MISSING,

    /** The store refuses this reader; its credentials are missing, wrong or have expired. */
    DENIED,

    /** It is no longer the object of the first read. Its bytes do not go with the earlier ones. */
    CHANGED,

    /** The store did not answer, or asked to wait, until the time limit of the read. */
    UNAVAILABLE,

    /** The store gave an answer that is not the one to the question; another try would not help. */
    WRONG_ANSWER,

    /** The reading thread was interrupted, and still is. */
    INTERRUPTED,

    /** Any other. */
    UNREADABLE
  }

  /**
   * Creates an exception for a problem that is {@link Problem#UNREADABLE}.
   *
   * @param name the name of the source
   * @param offset the position of the first byte of the read, at least 0
   * @param reason of the failure
   * @param cause of the failure, or null
   */
  public ByteSourceException(String name, long offset, String reason, @Nullable Throwable cause) {
    this(name, Problem.UNREADABLE, offset, reason, cause);
  }

  /**
   * Creates an exception.
   *
   * @param name the name of the source
   * @param problem the kind of the failure
   * @param offset the position of the first byte of the read, at least 0
   * @param reason of the failure
   * @param cause of the failure, or null
   */
  public ByteSourceException(
      String name, Problem problem, long offset, String reason, @Nullable Throwable cause) {
    super(
        "%s cannot be read at byte %d: %s"
            .formatted(requireNonNull(name, "name"), offset, requireNonNull(reason, "reason")),
        cause);
    this.name = name;
    this.problem = requireNonNull(problem, "problem");
    this.offset = offset;
    this.reason = reason;
  }

  /** Returns the same failure for another read, with this one as its cause. */
  ByteSourceException at(long other) {
    return new ByteSourceException(name, problem, other, reason, this);
  }

  /**
   * Returns the name of the source.
   *
   * @return its {@link ByteSource#name}
   */
  public String name() {
    return name;
  }

  /**
   * Returns the kind of the failure.
   *
   * @return the problem
   */
  public Problem problem() {
    return problem;
  }

  /**
   * Returns the position at which reading failed.
   *
   * @return the offset of the first byte of the read
   */
  public long offset() {
    return offset;
  }
}
