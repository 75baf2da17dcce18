// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeProcessGroup;
import io.torchfeed.bindings.NativeWork;
import io.torchfeed.distributed.rendezvous.GroupCore;
import io.torchfeed.trace.ring.GroupSpan;
import io.torchfeed.trace.ring.Kind;
import java.util.Set;
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

  /** Operations in which every rank waits for all others, even without checks. */
  private static final Set<String> MEETING =
      Set.of("all-reduce", "all-gather", "all-to-all", "barrier", "reduce-scatter");

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
    GroupSpan span = begin(operation);
    if (span == null) {
      return runInterruptibly(operation);
    }
    long bytes = operation.bytes().getAsLong();
    T result;
    try {
      result = runInterruptibly(operation);
    } catch (RuntimeException | Error e) {
      span.fail(e, bytes, e instanceof PeerLostException);
      throw e;
    }
    span.end(bytes);
    return result;
  }

  private @Nullable GroupSpan begin(Operation<?> operation) {
    Kind kind = operation.peer().isPresent() ? Kind.MESSAGE : Kind.COLLECTIVE;
    boolean meets = kind == Kind.COLLECTIVE && (isChecked || MEETING.contains(operation.name()));
    return GroupSpan.begin(core.log(), operation.name(), kind, meets);
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
    GroupSpan span = begin(operation);
    long bytes = span == null ? 0 : operation.bytes().getAsLong();
    long start = System.nanoTime();
    int mode = mode() | ASYNCHRONOUS;
    return core.handle()
        .call(
            group ->
                new Work<>(
                    NativeHandle.create("Work", () -> operation.body().start(group, mode)),
                    operation.result(),
                    e -> core.publicFailure(operation.name(), start, operation.peer(), e),
                    failure -> end(span, bytes, failure)));
  }

  private static void end(
      @Nullable GroupSpan span, long bytes, @Nullable RuntimeException failure) {
    if (span != null && failure != null) {
      span.fail(failure, bytes, failure instanceof PeerLostException);
    } else if (span != null) {
      span.end(bytes);
    }
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
