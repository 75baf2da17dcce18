// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.sampler.Part;
import java.util.OptionalInt;

/**
 * The way of operations into a native group, and of their failures out of it.
 *
 * @param isChecked whether the ranks compare their arguments first
 */
record GroupCalls(
    NativeHandle<io.torchfeed.bindings.ProcessGroup> handle, Part part, boolean isChecked) {
  private static final int CHECKED = io.torchfeed.bindings.ProcessGroup.kChecked();
  private static final int ASYNCHRONOUS = io.torchfeed.bindings.ProcessGroup.kAsynchronous();

  GroupCalls withChecks(boolean checked) {
    return new GroupCalls(handle, part, checked);
  }

  /** Performs an operation in this thread, once its turn has come. */
  <T> T run(Operation<T> operation) {
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
    OptionalInt lost =
        peer.isEmpty() && part.worldSize() == 2 ? OptionalInt.of(1 - part.rank()) : peer;
    return switch (e.code()) {
      case PEER_LOST, TIMEOUT -> PeerLostException.noted(name, start, lost, reason, e);
      default -> new IllegalStateException(name + " failed: " + reason, e);
    };
  }
}
