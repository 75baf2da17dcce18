// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeProcessGroup;
import io.torchfeed.sampler.Part;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;

/**
 * The native group behind a process group and all its views.
 *
 * @param isAborted whether this rank has aborted the group
 * @param timeout how long an operation waits for the other ranks
 */
public record GroupCore(
    NativeHandle<NativeProcessGroup> handle, Part part, AtomicBoolean isAborted, Duration timeout) {
  private static final Duration LATER = Duration.ofMillis(250);

  /** Takes ownership of a native group. */
  public static GroupCore of(NativeHandle<NativeProcessGroup> handle, Part part, Duration timeout) {
    return new GroupCore(handle, part, new AtomicBoolean(), timeout);
  }

  /** Ends the group at once; has no effect once it is closed. */
  public void abort() {
    isAborted.set(true);
    if (!handle.isClosed()) {
      handle.run(NativeProcessGroup::abort);
    }
  }

  /** Aborts another group, too, once this one is aborted. */
  public void abortWith(GroupCore other) {
    handle.run(mine -> other.handle.run(mine::abort_with));
  }

  /** Throws if the group is closed or aborted. */
  public void requireOpen() {
    boolean wasAborted = isAborted.get();
    if (handle.isClosed() || wasAborted) {
      throw new IllegalStateException("ProcessGroup " + (wasAborted ? "was aborted" : "is closed"));
    }
  }

  /** Creates a native object on this group; {@code maker} throws as {@link NativeHandle} does. */
  public <R> R make(String operation, Function<NativeProcessGroup, R> maker) {
    long start = System.nanoTime();
    handle.acquire();
    try {
      return maker.apply(handle.call(Function.identity()));
    } catch (NativeException e) {
      throw failure(operation, start, e);
    } finally {
      handle.release();
    }
  }

  /** Returns the public exception for a native failure of an operation that began at start. */
  public RuntimeException failure(String operation, long start, NativeException e) {
    return failure(operation, start, OptionalInt.empty(), e);
  }

  /**
   * Like {@link #failure(String, long, NativeException)}.
   *
   * @param peer the rank that is lost if the operation fails; empty if it may be any
   */
  public RuntimeException failure(
      String operation, long start, OptionalInt peer, NativeException e) {
    String reason = String.valueOf(e.getMessage());
    return switch (e.code()) {
      case PEER_LOST, TIMEOUT ->
          LossNote.lost(operation, start, peer.isEmpty() ? lostRank() : peer, reason, e);
      default -> new IllegalStateException(operation + " failed: " + reason, e);
    };
  }

  private OptionalInt lostRank() {
    if (part.worldSize() == 2) {
      return OptionalInt.of(1 - part.rank());
    }
    try {
      int lost = (int) handle.callLong(NativeProcessGroup::lost_rank);
      return lost < 0 ? OptionalInt.empty() : OptionalInt.of(lost);
    } catch (IllegalStateException e) {
      return OptionalInt.empty(); // closed meanwhile
    }
  }

  /**
   * Returns the rank that is lost when a connection to a rank's process has ended: that one, or the
   * one for whose loss it has left, or which was lost before; empty if the group is closed.
   */
  public OptionalInt lostWith(int rank) {
    try {
      long start = System.nanoTime();
      while (true) { // Gloo sees the end of the group's own connection to it a little later
        OptionalInt lost = isLost(rank) ? lostRank() : OptionalInt.empty();
        if (lost.isPresent() || System.nanoTime() - start > LATER.toNanos()) {
          return lost.isPresent() ? lost : OptionalInt.of(rank);
        }
        Rendezvous.sleep(1);
      }
    } catch (IllegalStateException e) {
      return OptionalInt.empty(); // closed meanwhile, or this thread is interrupted
    }
  }

  /** Returns whether the connection to a rank is lost. */
  public boolean isLost(int rank) {
    return handle.call(group -> group.is_lost(rank));
  }
}
