// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import java.time.Duration;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Another rank died, left, or did not answer within the group's timeout.
 *
 * <p>The group cannot be used any further: close it, and start all ranks again from the last
 * checkpoint.
 */
public final class PeerLostException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final int UNKNOWN = -1;

  /** See {@link #operation()}. */
  private final String operation;

  /** See {@link #waited()}. */
  private final Duration waited;

  /** The rank, or a negative number. */
  private final int rank;

  PeerLostException(
      String operation,
      Duration waited,
      OptionalInt rank,
      String reason,
      @Nullable Throwable cause) {
    super(message(operation, waited, rank, reason), cause);
    this.operation = operation;
    this.waited = waited;
    this.rank = rank.orElse(UNKNOWN);
  }

  private static String message(
      String operation, Duration waited, OptionalInt rank, String reason) {
    String who = rank.isPresent() ? "rank " + rank.getAsInt() : "another rank";
    return who + " was lost during " + operation + " after " + waited.toMillis() + " ms: " + reason;
  }

  /**
   * What this rank was doing.
   *
   * @return for example {@code backward}
   */
  public String operation() {
    return operation;
  }

  /**
   * How long this rank had been in the operation.
   *
   * @return the time from the operation's start to the failure
   */
  public Duration waited() {
    return waited;
  }

  /**
   * The rank that was lost.
   *
   * @return the rank, or empty if it is not known; with two ranks it always is
   */
  public OptionalInt rank() {
    return rank == UNKNOWN ? OptionalInt.empty() : OptionalInt.of(rank);
  }
}
