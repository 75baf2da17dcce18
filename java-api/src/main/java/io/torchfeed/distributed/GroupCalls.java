// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeProcessGroup;
import io.torchfeed.bindings.NativeWork;
import io.torchfeed.distributed.rendezvous.GroupCore;
import io.torchfeed.internal.GroupEvents;
import io.torchfeed.sampler.Part;
import org.jspecify.annotations.Nullable;

/**
 * The way of operations into a native group, and of their failures out of it.
 *
 * @param isChecked whether the ranks compare their arguments first
 * @param isInThisThread whether operations are done when {@link #start} returns
 * @param name the name of all operations in messages; null if each keeps its own
 */
record GroupCalls(
    GroupCore core, boolean isChecked, boolean isInThisThread, @Nullable String name) {
  private static final int CHECKED = NativeProcessGroup.kChecked();
  private static final int ASYNCHRONOUS = NativeProcessGroup.kAsynchronous();

  GroupCalls(GroupCore core, boolean isChecked) {
    this(core, isChecked, false, null);
  }

  GroupCalls withChecks(boolean checked) {
    return new GroupCalls(core, checked, isInThisThread, name);
  }

  GroupCalls inThisThread() {
    return new GroupCalls(core, isChecked, true, name);
  }

  GroupCalls named(String operations) {
    return new GroupCalls(core, isChecked, isInThisThread, operations);
  }

  /**
   * Starts an operation, which a thread of the group performs, or this one, once its turn has come;
   * then a failure is thrown here.
   */
  <T> Work<T> start(Operation<T> operation) {
    Operation<T> named = name == null ? operation : operation.named(name);
    return isInThisThread ? Work.done(run(named)) : startInBackground(named);
  }

  private <T> T run(Operation<T> operation) {
    GroupEvents.Collective event = GroupEvents.beginCollective();
    if (event == null) {
      return runInterruptibly(operation);
    }
    long bytes = operation.bytes().getAsLong();
    boolean isDone = false;
    try {
      T result = runInterruptibly(operation);
      isDone = true;
      return result;
    } finally {
      finish(event, operation, bytes, !isDone);
    }
  }

  private void finish(
      GroupEvents.Collective event, Operation<?> operation, long bytes, boolean failed) {
    Part part = core.part();
    event.finish(operation.name(), part.rank(), part.worldSize(), bytes, failed);
  }

  private <T> T runInterruptibly(Operation<T> operation) {
    return core.interruptibly(
        operation.name(),
        operation.peer(),
        () ->
            core.handle()
                .call(
                    group -> {
                      try (NativeWork work = operation.body().start(group, mode())) {
                        return operation.result().of(work);
                      }
                    }));
  }

  private <T> Work<T> startInBackground(Operation<T> operation) {
    GroupEvents.Collective event = GroupEvents.beginCollective();
    long bytes = event == null ? 0 : operation.bytes().getAsLong();
    long start = System.nanoTime();
    int mode = mode() | ASYNCHRONOUS;
    return core.handle()
        .call(
            group ->
                new Work<>(
                    NativeHandle.create("Work", () -> operation.body().start(group, mode)),
                    operation.result(),
                    e -> core.publicFailure(operation.name(), start, operation.peer(), e),
                    failed -> {
                      if (event != null) {
                        finish(event, operation, bytes, failed);
                      }
                    }));
  }

  /** Returns a copy of the numbers of rows for each rank. */
  long[] splits(long[] splits) {
    if (splits.length != core.part().worldSize()) {
      throw new IllegalArgumentException(
          "splits must hold one number for each of %d ranks, got %d"
              .formatted(core.part().worldSize(), splits.length));
    }
    return splits.clone();
  }

  private int mode() {
    return isChecked ? CHECKED : 0;
  }
}
