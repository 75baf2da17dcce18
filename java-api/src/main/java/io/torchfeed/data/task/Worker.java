// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.task;

import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowReader;
import io.torchfeed.bindings.RowSet;
import io.torchfeed.memory.Slab;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A worker, which fills one batch after the other: on a thread of its own or, in a loader without
 * workers, on the consumer's. Its batches share a writer of samples and a reader of rows, each
 * created when it is first needed.
 */
public final class Worker {
  private final TaskOptions options;
  private final int number;
  private final @Nullable Thread own; // null: fills batches on the consumer's thread

  // Used by one thread at a time, the one that fills batches.
  private @Nullable SlabSampleWriter writer;
  private @Nullable NativeHandle<RowReader> reader;
  private boolean isStartTried; // the start hook has run, normally or not
  private boolean isStarted;
  private @Nullable Throwable startFailure;

  // Guarded by the monitor of the engine.
  private @Nullable BatchTask current;
  private @Nullable Thread filling; // the thread that fills current
  private boolean isStarting;
  private boolean isDismissed;
  private boolean hasEnded;
  private @Nullable Throwable endedBy;

  private Worker(TaskOptions options, @Nullable Consumer<Worker> body) {
    this.options = options;
    this.number = options.workerNumbers().getAndIncrement();
    if (body == null) {
      own = null;
    } else {
      own = new Thread(() -> body.accept(this), "torchfeed-worker-" + number);
      own.setDaemon(true);
      isStarting = true;
    }
  }

  /** Creates a worker that fills batches on the consumer's thread. */
  public static Worker ofConsumer(TaskOptions options) {
    return new Worker(options, null);
  }

  /** Creates a worker with a thread, which {@link #startThread} starts to run the body. */
  public static Worker ofThread(TaskOptions options, Consumer<Worker> body) {
    return new Worker(options, body);
  }

  /** Returns the number that no other worker of the loader has. */
  public int number() {
    return number;
  }

  TaskOptions options() {
    return options;
  }

  SlabSampleWriter writer() {
    SlabSampleWriter made = writer;
    if (made == null) {
      made = new SlabSampleWriter(options.layout());
      writer = made;
    }
    return made;
  }

  /** Returns the reader of the rows, which no other thread uses except to close it. */
  NativeHandle<RowReader> reader(NativeHandle<RowSet> rows) {
    NativeHandle<RowReader> open = reader;
    if (open == null || open.isClosed()) {
      open = rows.call(set -> NativeHandle.create("RowReader", () -> RowReader.create(set)));
      reader = open;
    }
    return open;
  }

  /** Runs the start hook, unless it has run. An exception of the hook fails the next batch. */
  public void start() {
    if (isStartTried) {
      return;
    }
    isStartTried = true;
    try {
      options.hooks().start(number);
      isStarted = true;
    } catch (Throwable e) {
      startFailure = e;
    }
  }

  /** Fills a batch, once started. Throws nothing: a failure is stored in the batch. */
  public void fill(BatchTask task, Supplier<Slab> slabs) {
    task.assignTo(number);
    try {
      start();
      if (startFailure != null) {
        task.fail(startFailure);
      } else {
        task.fill(slabs.get(), this);
      }
    } catch (Throwable e) {
      task.fail(e);
    }
  }

  /** Returns whether this worker can fill another batch; if not, another takes its place. */
  public boolean isUsable() {
    return startFailure == null;
  }

  /** Closes the reader; runs the stop hook, whose exceptions are ignored, as its contract says. */
  @SuppressWarnings("EmptyCatch")
  public void stop() {
    NativeHandle<RowReader> open = reader;
    if (open != null) {
      open.close();
    }
    if (isStarted) {
      isStarted = false;
      try {
        options.hooks().stop(number);
      } catch (Throwable dropped) {
      }
    }
  }

  // The caller of the following methods holds the monitor of the engine, except for join().

  /** Notes that the calling thread begins a batch. */
  public void begin(BatchTask task) {
    filling = Thread.currentThread();
    current = task;
  }

  /** Notes that the batch is over. */
  public void end() {
    current = null;
  }

  /** Returns the batch that this worker fills; null if none. */
  public @Nullable BatchTask current() {
    return current;
  }

  /** Returns whether the worker fills a batch, on another thread than the caller's. */
  public boolean isBusy() {
    return current != null && !hasEnded() && filling != Thread.currentThread();
  }

  /** Cancels the batch that is being filled, and interrupts the thread that fills it. */
  public void cancel() {
    BatchTask unwanted = current;
    Thread thread = filling;
    if (unwanted != null) {
      unwanted.cancel();
      if (thread != null && isBusy()) {
        thread.interrupt();
      }
    }
  }

  /** Starts the thread. */
  public void startThread() {
    thread().start();
  }

  /** Notes that the start hook has run. */
  public void endStart() {
    isStarting = false;
  }

  /** Interrupts the start hook if it is running. */
  public void cancelStart() {
    if (isStarting) {
      thread().interrupt();
    }
  }

  /** Tells the worker to end after its current batch. */
  public void dismiss() {
    isDismissed = true;
  }

  public boolean isDismissed() {
    return isDismissed;
  }

  /**
   * Notes that the thread ends.
   *
   * @param by the failure that ended it; null if its engine did
   */
  public void endThread(@Nullable Throwable by) {
    hasEnded = true;
    endedBy = by;
  }

  /**
   * Returns whether the thread fills no more batches, even if it died before it could note that.
   */
  public boolean hasEnded() {
    return hasEnded || (own != null && own.getState() == Thread.State.TERMINATED);
  }

  /** Returns the failure that ended the thread; null if its engine ended it. */
  public @Nullable Throwable endedBy() {
    return endedBy;
  }

  /** Waits for the thread to end, unless it is the caller. */
  public void join(long millis) throws InterruptedException {
    if (own != Thread.currentThread()) {
      thread().join(millis);
    }
  }

  private Thread thread() {
    if (own == null) {
      throw new IllegalStateException("the worker has no thread of its own");
    }
    return own;
  }

  /** Returns the activity of a worker with a thread, for a message. */
  public String describe(long now) {
    BatchTask task = current;
    if (task == null) {
      return "worker %d is %s".formatted(number, isStarting ? "starting" : "idle");
    }
    return "worker %d has been %s, %s".formatted(number, task.describe(now), place(thread()));
  }

  /** Returns the innermost stack frame of a thread that does not belong to the JDK. */
  private static String place(Thread thread) {
    StackTraceElement[] frames = thread.getStackTrace();
    for (StackTraceElement frame : frames) {
      String module = frame.getModuleName();
      if (module == null || !module.startsWith("java.")) {
        return "at " + frame;
      }
    }
    return frames.length == 0 ? "ended" : "at " + frames[0];
  }
}
