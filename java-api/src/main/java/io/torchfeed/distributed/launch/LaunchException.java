// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.launch;

import io.torchfeed.internal.Failures;
import java.nio.file.FileSystemException;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when a rank could not be started or failed, or its output could not be forwarded. All
 * ranks have been terminated by then.
 */
public final class LaunchException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final int NO_EXIT_CODE = -1;
  private static final int NO_RANK = -1;
  private static final int SIGNALS = 128;

  /** See {@link #rank()}. */
  private final int rank;

  /** See {@link #exitCode()}. */
  private final int exitCode;

  /** See {@link #errorTail()}. */
  private final String errorTail;

  /** See {@link #errorFile()}. */
  private @Nullable String errorFile;

  /** The time at which the first failure was noticed. */
  private Instant time = Instant.now();

  /** See {@link #process()}. */
  private final String process;

  /** See {@link #generation()}. */
  private final int generation;

  private LaunchException(
      String message, int rank, int exitCode, String errorTail, @Nullable Throwable cause) {
    this(message, "rank " + rank, rank, 0, exitCode, errorTail, cause);
  }

  private LaunchException(
      String message,
      String process,
      int rank,
      int generation,
      int exitCode,
      String errorTail,
      @Nullable Throwable cause) {
    super(message, cause);
    this.process = process;
    this.rank = rank;
    this.generation = generation;
    this.exitCode = exitCode;
    this.errorTail = errorTail;
  }

  private static String reason(Throwable cause) {
    String file = cause instanceof FileSystemException at ? at.getFile() + ": " : "";
    return file + Failures.reason(cause);
  }

  static LaunchException notStarted(int rank, Throwable cause) {
    String message = "rank " + rank + " could not be started: " + reason(cause);
    return new LaunchException(message, rank, NO_EXIT_CODE, "", cause);
  }

  /**
   * Returns the failure of a launch for which there is too little memory.
   *
   * @param fitting the number of ranks for which it suffices
   */
  static LaunchException tooLittleMemory(int ranks, long each, long available, int fitting) {
    String message =
        ("%d ranks need at least %d MiB of memory, %d MiB for each, and %d MiB are available; "
                + "start at most %d, end other programs, or set oversubscribe")
            .formatted(ranks, (ranks * each) >> 20, each >> 20, available >> 20, fitting);
    return new LaunchException(message, fitting, NO_EXIT_CODE, "", null);
  }

  static LaunchException outputLost(int rank, Throwable cause) {
    return new LaunchException(outputLostBy("rank " + rank, cause), rank, NO_EXIT_CODE, "", cause);
  }

  static LaunchException outputLost(String process, Throwable cause) {
    String message = outputLostBy("process " + process, cause);
    return new LaunchException(message, process, NO_RANK, 0, NO_EXIT_CODE, "", cause);
  }

  private static String outputLostBy(String who, Throwable cause) {
    return "the output of " + who + " could not be forwarded: " + cause;
  }

  static LaunchException failed(
      int rank, int exitCode, String errorTail, Optional<String> errorFile, Instant time) {
    String message =
        "rank " + rank + " was the first to fail, " + how(exitCode) + quote(errorTail, errorFile);
    return new LaunchException(message, rank, exitCode, errorTail, null).with(errorFile, time);
  }

  private static String how(int exitCode) {
    return exitCode > SIGNALS ? "by signal " + (exitCode - SIGNALS) : "with exit code " + exitCode;
  }

  private static String quote(String errorTail, Optional<String> errorFile) {
    return errorFile.map(file -> "; its error file: " + ErrorFile.message(file)).orElse("")
        + (errorTail.isEmpty() ? "" : "; the end of its standard error:\n" + errorTail);
  }

  private LaunchException with(Optional<String> file, Instant noticed) {
    errorFile = file.orElse(null);
    time = noticed;
    return this;
  }

  /**
   * Returns the content of an error file for this failure, written by the process if it could; else
   * with the time when its failure was noticed.
   */
  String errorFile() {
    return errorFile == null ? ErrorFile.json(String.valueOf(getMessage()), "", time) : errorFile;
  }

  static LaunchException processNotStarted(String process, Throwable cause) {
    String message = "process " + process + " could not be started: " + reason(cause);
    return new LaunchException(message, process, NO_RANK, 0, NO_EXIT_CODE, "", cause);
  }

  /** Returns the failure of a launch that has not started a process. */
  static LaunchException notBegun(String reason, Throwable cause) {
    return new LaunchException(reason, "", NO_RANK, 0, NO_EXIT_CODE, "", cause);
  }

  /** Returns the failure of an elastic job without a failed process. */
  static LaunchException incomplete(String reason, int generation) {
    return new LaunchException(reason, "", NO_RANK, generation, NO_EXIT_CODE, "", null);
  }

  /** Returns the failure of an elastic job. */
  static LaunchException ended(String reason, ElasticProcess.Failure first) {
    String place =
        first.rank() < 0
            ? "in no generation"
            : "rank " + first.rank() + " of generation " + first.generation();
    String message =
        "%s; process %s (%s) was the first to fail, %s%s"
            .formatted(
                reason,
                first.process(),
                place,
                how(first.exitCode()),
                quote(first.errorTail(), first.errorFile()));
    return new LaunchException(
            message,
            first.process(),
            first.rank(),
            first.generation(),
            first.exitCode(),
            first.errorTail(),
            null)
        .with(first.errorFile(), first.time());
  }

  /**
   * Returns the rank that failed first.
   *
   * @return in [0, number of ranks); in an elastic job, the rank in {@link #generation}, or -1 if
   *     the process was in none, or no process failed
   */
  public int rank() {
    return rank;
  }

  /**
   * Returns the name of the process that failed first.
   *
   * @return as in its prefix, for example {@code p1.2}, the second start of process 1, or {@code
   *     rank 1} if the number of ranks is fixed; empty if no process failed
   */
  public String process() {
    return process;
  }

  /**
   * Returns the last generation in which the process was that failed first.
   *
   * @return at least 1; 0 if it was in none, or the number of ranks is fixed
   */
  public int generation() {
    return generation;
  }

  /**
   * Returns the exit code of the rank's process.
   *
   * @return the exit code, 128 plus the signal number if a signal ended the process, or -1 if it
   *     never started, its output could not be forwarded, or no process failed
   */
  public int exitCode() {
    return exitCode;
  }

  /**
   * Returns the end of the rank's standard error.
   *
   * @return at most 50 lines; empty for rank 0 if its output was inherited
   */
  public String errorTail() {
    return errorTail;
  }
}
