// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Quotes;
import java.time.Duration;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when another rank died, left, or did not respond within the group's timeout.
 *
 * <p>The message quotes the cause that a rank gave to {@link ProcessGroup#abort(Throwable)}. After
 * a timeout, it names the ranks that are in no call; if all are in one, but in different ones, as
 * when a rank has left out a backward pass, it names the calls of the others.
 *
 * <p>The group is no longer usable, except after {@link KeyValueStore#get} of a key that no rank
 * has set in time. Close it; then start all ranks again from the last checkpoint, or join another
 * group with the ranks that are left, and {@code rebind} the model to it, as a training loop over
 * {@link io.torchfeed.elastic.ElasticRanks} does.
 */
public final class PeerLostException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final int UNKNOWN = -1;

  /** See {@link #operation()}. */
  private final String operation;

  /** See {@link #waited()}. */
  private final Duration waited;

  /** The rank, or {@link #UNKNOWN}. */
  private final int rank;

  /**
   * Creates the exception.
   *
   * @param operation the operation that failed, for example {@code backward}
   * @param waited the time from the operation's start to the failure
   * @param rank the rank that was lost, or empty if unknown
   * @param reason the end of the message
   * @param cause the exception of the operation; null if there is none
   */
  @SuppressWarnings("exports") // the annotation is not needed at run time
  public PeerLostException(
      String operation,
      Duration waited,
      OptionalInt rank,
      String reason,
      @Nullable Throwable cause) {
    this(
        message(
            requireNonNull(operation, "operation"),
            requireNonNull(waited, "waited"),
            requireNonNull(rank, "rank"),
            requireNonNull(reason, "reason")),
        operation,
        waited,
        rank,
        cause);
  }

  private PeerLostException(
      String message,
      String operation,
      Duration waited,
      OptionalInt rank,
      @Nullable Throwable cause) {
    super(message, cause);
    this.operation = operation;
    this.waited = waited;
    this.rank = rank.orElse(UNKNOWN);
  }

  /** Returns the exception for a key that no rank has set: none need be lost. */
  static PeerLostException ofUnsetKey(String key, long start) {
    Duration waited = Duration.ofNanos(System.nanoTime() - start);
    String message =
        "no rank has set the key '%s' within %d ms"
            .formatted(Quotes.shortened(key), waited.toMillis());
    return new PeerLostException(message, "get", waited, OptionalInt.empty(), null);
  }

  /**
   * Returns the exception for ranks that wait for each other in different calls.
   *
   * @param calls the calls in which other ranks wait
   * @param operation the one in which this rank waits
   * @param start when it began, a value of {@link System#nanoTime}
   * @param rank the rank in another call, or empty if there are several
   * @param cause the failure of the operation
   * @return the exception
   */
  public static PeerLostException ofOtherCalls(
      String calls, String operation, long start, OptionalInt rank, Throwable cause) {
    requireNonNull(calls, "calls");
    requireNonNull(operation, "operation");
    requireNonNull(rank, "rank");
    requireNonNull(cause, "cause");
    Duration waited = Duration.ofNanos(System.nanoTime() - start);
    String message =
        ("%s while this rank waits in %s, after %d ms: all ranks must make the same calls in the"
                + " same order, and one has left out a call or made one too many")
            .formatted(calls, operation, waited.toMillis());
    return new PeerLostException(message, operation, waited, rank, cause);
  }

  private static String message(
      String operation, Duration waited, OptionalInt rank, String reason) {
    String who = rank.isPresent() ? "rank " + rank.getAsInt() : "another rank";
    return who + " was lost during " + operation + " after " + waited.toMillis() + " ms: " + reason;
  }

  /**
   * Returns the operation that failed.
   *
   * @return for example {@code backward}
   */
  public String operation() {
    return operation;
  }

  /**
   * Returns how long this rank had been in the operation.
   *
   * @return the time from the operation's start to the failure
   */
  public Duration waited() {
    return waited;
  }

  /**
   * Returns the rank that was lost: the one that died, left, or did not respond, and not one that
   * closed its group because it had lost that rank.
   *
   * <p>If several ranks end within a quarter of a second without closing their groups, it is
   * unknown which was the first. After a timeout it is unknown unless a single rank is in no call,
   * or in another one. With Python ranks, which do not tell why they leave, it can be a rank that
   * left for another one.
   *
   * @return the rank, or empty if unknown; with two ranks, always known except in the rendezvous
   */
  public OptionalInt rank() {
    return rank == UNKNOWN ? OptionalInt.empty() : OptionalInt.of(rank);
  }
}
