// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static java.util.Objects.requireNonNull;

import org.jspecify.annotations.Nullable;

/** Thrown when ranks cannot be started on a cluster, or their training fails. */
public final class SparkRanksException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The kind of problem. */
  public enum Problem {
    /** The DataFrame has no column that is asked for, or one that cannot be a tensor. */
    SCHEMA,
    /** A row does not fit: it has a null, an array of another length, or a broken image. */
    ROW,
    /** The cluster has fewer slots for tasks than there are ranks. */
    SLOTS,
    /** Dynamic allocation is on, which barrier stages do not allow. */
    DYNAMIC_ALLOCATION,
    /** An executor cannot load libtorch or torchfeed's native library. */
    NATIVE_LIBRARIES,
    /** An executor cannot connect to the driver. */
    DRIVER_UNREACHABLE,
    /** The folder of checkpoints cannot be created, or a checkpoint not be saved or loaded. */
    CHECKPOINTS,
    /** The stage was repeated, or a checkpoint loaded, and a rank has other rows than before. */
    ROWS_DIFFER,
    /** The user's function has thrown an exception, which is the cause. */
    FAILED,
    /** The job was canceled. */
    CANCELED,
    /** Spark has given up: the stage was lost too often, or for another reason of Spark's. */
    LOST
  }

  /** The kind of problem. */
  private final Problem problem;

  /**
   * Creates an exception.
   *
   * @param problem the kind of problem
   * @param message the problem and its remedy
   */
  public SparkRanksException(Problem problem, String message) {
    this(problem, message, null);
  }

  /**
   * Creates an exception with a cause.
   *
   * @param problem the kind of problem
   * @param message the problem and its remedy
   * @param cause null for none
   */
  public SparkRanksException(Problem problem, String message, @Nullable Throwable cause) {
    super(requireNonNull(message, "message"), cause);
    this.problem = requireNonNull(problem, "problem");
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
