// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import io.torchfeed.bindings.Door;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeProcessGroup;
import io.torchfeed.distributed.CollectiveInterruptedException;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.sampler.Part;
import io.torchfeed.trace.ring.GroupLog;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The native group behind a process group and all its views.
 *
 * @param isAborted whether this rank has aborted the group
 * @param abortCause why; null if it did not say
 * @param timeout how long an operation waits for the other ranks
 * @param lastWords null if the ranks tell each other nothing when they give up
 * @param log the numbers of its operations, for traces
 */
public record GroupCore(
    NativeHandle<NativeProcessGroup> handle,
    Part part,
    AtomicBoolean isAborted,
    AtomicReference<@Nullable Throwable> abortCause,
    Duration timeout,
    @Nullable LastWords lastWords,
    GroupLog log) {
  /** Into a {@code ProcessGroup}. */
  public static final Door<GroupCore> OF_GROUP = new Door<>();

  /** Into a {@code PythonProcessGroup}. */
  public static final Door<GroupCore> OF_PYTHON_GROUP = new Door<>();

  private static final Duration LATER = Duration.ofSeconds(1);
  private static final long NOT_LOST = -2;

  /** Takes ownership of a native group, and borrows its store. */
  public static GroupCore of(Rendezvous.Joined joined, Part part, Duration timeout) {
    StoreConnection store = joined.store();
    return new GroupCore(
        joined.group(),
        part,
        new AtomicBoolean(),
        new AtomicReference<@Nullable Throwable>(),
        timeout,
        store == null || joined.hasPythonRanks()
            ? null
            : new LastWords(store, joined.prefix(), part),
        new GroupLog(joined.prefix(), part.rank(), part.worldSize(), joined.isPart()));
  }

  /** Ends the group at once; has no effect once it is closed. */
  public void abort() {
    abort(null);
  }

  /** Like {@link #abort()}, with the cause of later failures; the first one counts. */
  public void abort(@Nullable Throwable cause) {
    if (cause != null && !isAborted.get() && abortCause.compareAndSet(null, cause)) {
      if (lastWords != null && !(cause instanceof PeerLostException)) {
        lastWords.giveUp(cause); // before the others notice the end
      }
    }
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

  /** Like {@link #requireOpen()}, in an operation that began at start. */
  public void requireOpen(String operation, long start) {
    try {
      requireOpen();
    } catch (IllegalStateException e) {
      throw afterAbort(operation, start, e);
    }
  }

  /**
   * Creates a native object on this group; {@code maker} throws as {@link NativeHandle} does, and
   * is interruptible.
   */
  public <R> R make(String operation, Function<NativeProcessGroup, R> maker) {
    return interruptibly(
        operation,
        () -> {
          handle.acquire();
          try {
            return maker.apply(handle.call(Function.identity()));
          } finally {
            handle.release();
          }
        });
  }

  /**
   * Runs an operation on the group, which throws as {@link NativeHandle} does. If this thread is
   * interrupted while it waits, the group is aborted.
   *
   * @throws CollectiveInterruptedException if so
   */
  public <R> R interruptibly(String operation, Supplier<R> body) {
    return interruptibly(operation, OptionalInt.empty(), body);
  }

  /**
   * Like {@link #interruptibly(String, Supplier)}.
   *
   * @param peer the rank that is lost if the operation fails; empty if it may be any
   */
  public <R> R interruptibly(String operation, OptionalInt peer, Supplier<R> body) {
    long start = System.nanoTime();
    InterruptibleWait wait = new InterruptibleWait(this);
    wait.start();
    R result;
    try {
      result = body.get();
    } catch (RuntimeException e) {
      boolean isInterrupted = wait.isInterrupted(); // before the failure is explained
      RuntimeException failure = publicFailure(operation, start, peer, e);
      throw isInterrupted ? new CollectiveInterruptedException(operation, failure) : failure;
    } catch (Error e) {
      wait.isInterrupted();
      throw e;
    }
    wait.isInterrupted(); // then the operation was done before, and only later ones fail
    return result;
  }

  /**
   * Returns the public exception for a failure of an operation that began at start.
   *
   * @param peer the rank that is lost if the operation fails; empty if it may be any
   * @param e thrown by {@link NativeHandle}
   */
  public RuntimeException publicFailure(
      String operation, long start, OptionalInt peer, RuntimeException e) {
    if (e instanceof NativeException nativeFailure) {
      return failure(operation, start, peer, nativeFailure);
    }
    return e instanceof IllegalStateException ended ? afterAbort(operation, start, ended) : e;
  }

  /** Returns the exception for an operation that the end of the group may have ended. */
  private RuntimeException afterAbort(String operation, long start, IllegalStateException e) {
    Throwable cause = isAborted.get() ? abortCause.get() : null;
    if (cause instanceof PeerLostException lost) {
      return LossNote.lost(operation, start, lost.rank(), String.valueOf(lost.getMessage()), lost);
    }
    return cause == null ? e : new IllegalStateException(e.getMessage() + ": " + cause, cause);
  }

  private RuntimeException failure(
      String operation, long start, OptionalInt peer, NativeException e) {
    return switch (e.code()) {
      case PEER_LOST, TIMEOUT -> lost(operation, start, peer, e);
      default -> new IllegalStateException(operation + " failed: " + e.getMessage(), e);
    };
  }

  private PeerLostException lost(
      String operation, long start, OptionalInt peer, NativeException e) {
    OptionalInt culprit = peer.isPresent() ? lostWith(peer.getAsInt()) : lostRank();
    OptionalInt lost =
        part.worldSize() == 2
            ? OptionalInt.of(1 - part.rank())
            : culprit.equals(OptionalInt.of(part.rank())) ? OptionalInt.empty() : culprit;
    if (lastWords == null) {
      return LossNote.lost(operation, start, lost, String.valueOf(e.getMessage()), e);
    }
    return lastWords.lost(operation, start, lost, e, isAborted::get);
  }

  /** Returns the rank for whose loss others have left; it may be this one. Empty if unknown. */
  private OptionalInt lostRank() {
    try {
      int lost = (int) handle.callLong(NativeProcessGroup::lost_rank);
      return lost < 0 ? OptionalInt.empty() : OptionalInt.of(lost);
    } catch (IllegalStateException e) {
      return OptionalInt.empty(); // closed meanwhile
    }
  }

  /**
   * Returns the rank that is lost when a connection to a rank's process has ended: that one, or the
   * one for whose loss it has left; empty if that is unknown, or the group is closed.
   */
  public OptionalInt lostWith(int rank) {
    if (part.worldSize() == 2) {
      return OptionalInt.of(rank);
    }
    try {
      long start = System.nanoTime();
      while (true) { // Gloo sees the end of the group's own connection to it a little later
        long lost = handle.callLong(group -> group.lost_with(rank));
        if (lost != NOT_LOST) {
          return lost < 0 ? OptionalInt.empty() : OptionalInt.of((int) lost);
        }
        if (System.nanoTime() - start > LATER.toNanos()) {
          return OptionalInt.of(rank);
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
