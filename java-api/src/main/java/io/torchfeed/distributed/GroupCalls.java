// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.sampler.Part;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.spi.AbstractInterruptibleChannel;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The way of operations into a native group, and of their failures out of it.
 *
 * @param isAborted whether this rank has aborted the group, shared by all views of it
 * @param isChecked whether the ranks compare their arguments first
 */
record GroupCalls(
    NativeHandle<io.torchfeed.bindings.ProcessGroup> handle,
    Part part,
    AtomicBoolean isAborted,
    boolean isChecked) {
  private static final int CHECKED = io.torchfeed.bindings.ProcessGroup.kChecked();
  private static final int ASYNCHRONOUS = io.torchfeed.bindings.ProcessGroup.kAsynchronous();

  GroupCalls withChecks(boolean checked) {
    return new GroupCalls(handle, part, isAborted, checked);
  }

  /**
   * A wait in native code that an interrupt of its thread ends by aborting the group. The interrupt
   * itself does so, so that no other thread is needed.
   */
  private static final class InterruptibleWait extends AbstractInterruptibleChannel {
    private final GroupCalls group;

    InterruptibleWait(GroupCalls group) {
      this.group = group;
    }

    void start() {
      begin();
    }

    /** Ends the wait; returns whether an interrupt has ended it. */
    boolean isInterrupted() {
      try {
        end(true);
        return false;
      } catch (AsynchronousCloseException e) {
        return true;
      }
    }

    @Override
    protected void implCloseChannel() {
      group.abort();
    }
  }

  /** Ends the group at once; has no effect once it is closed. */
  void abort() {
    isAborted.set(true);
    if (!handle.isClosed()) {
      handle.run(io.torchfeed.bindings.ProcessGroup::abort);
    }
  }

  /** Performs an operation in this thread, once its turn has come. */
  <T> T run(Operation<T> operation) {
    InterruptibleWait wait = new InterruptibleWait(this);
    wait.start();
    T result;
    try {
      result = perform(operation);
    } catch (RuntimeException e) {
      throw wait.isInterrupted() ? new CollectiveInterruptedException(operation.name(), e) : e;
    } catch (Error e) {
      wait.isInterrupted();
      throw e;
    }
    wait.isInterrupted(); // then the operation was done before, and only later ones fail
    return result;
  }

  private <T> T perform(Operation<T> operation) {
    long start = System.nanoTime();
    try {
      return handle.call(
          group -> {
            try (io.torchfeed.bindings.Work work = operation.body().start(group, mode())) {
              return operation.result().of(work);
            }
          });
    } catch (NativeException e) {
      throw failure(operation.name(), start, operation.peer(), e);
    }
  }

  /** Starts an operation, which a thread of the group performs. */
  <T> Work<T> start(Operation<T> operation) {
    long start = System.nanoTime();
    int mode = mode() | ASYNCHRONOUS;
    return handle.call(
        group ->
            new Work<>(
                NativeHandle.create("Work", () -> operation.body().start(group, mode)),
                operation.result(),
                e -> failure(operation.name(), start, operation.peer(), e)));
  }

  /** Returns a copy of the numbers of rows for each rank. */
  long[] splits(long[] splits) {
    if (splits.length != part.worldSize()) {
      throw new IllegalArgumentException(
          "splits must hold one number for each of %d ranks, got %d"
              .formatted(part.worldSize(), splits.length));
    }
    return splits.clone();
  }

  private int mode() {
    return isChecked ? CHECKED : 0;
  }

  /** Returns the public exception for a native failure of an operation that began at start. */
  RuntimeException failure(String name, long start, OptionalInt peer, NativeException e) {
    String reason = String.valueOf(e.getMessage());
    return switch (e.code()) {
      case PEER_LOST, TIMEOUT ->
          PeerLostException.noted(name, start, peer.isEmpty() ? lostRank() : peer, reason, e);
      default -> new IllegalStateException(name + " failed: " + reason, e);
    };
  }

  private OptionalInt lostRank() {
    if (part.worldSize() == 2) {
      return OptionalInt.of(1 - part.rank());
    }
    try {
      int lost = (int) handle.callLong(io.torchfeed.bindings.ProcessGroup::lost_rank);
      return lost < 0 ? OptionalInt.empty() : OptionalInt.of(lost);
    } catch (IllegalStateException e) {
      return OptionalInt.empty(); // closed meanwhile
    }
  }

  /** Returns whether the connection to a rank is lost. */
  boolean isLost(int rank) {
    return handle.call(group -> group.is_lost(rank));
  }
}
