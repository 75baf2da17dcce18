// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.task.BatchTask;
import org.jspecify.annotations.Nullable;

/** A thread that fills batches until its engine dismisses it. */
final class LoaderWorker extends Thread {
  final BatchFiller filler;

  private final JavaEngine engine;

  // Guarded by the monitor of the engine's HandOff.

  /** The batch that this worker fills; null if none. */
  @Nullable BatchTask current;

  /** True while the worker is in its start hook. */
  boolean isStarting = true;

  /** True if the worker is to end after its current batch. */
  boolean isDismissed;

  /** True once the worker fills no more batches. */
  private boolean hasEnded;

  /** The failure that ended the worker; null if its engine ended it. */
  private @Nullable Throwable endedBy;

  LoaderWorker(JavaEngine engine, BatchFiller filler) {
    super("torchfeed-worker-" + filler.number());
    this.engine = engine;
    this.filler = filler;
    setDaemon(true);
  }

  @Override
  public void run() {
    Throwable by = null;
    try {
      engine.work(this);
    } catch (Throwable e) {
      by = e;
    } finally {
      engine.ended(this, by);
      filler.stop();
    }
  }

  int number() {
    return filler.number();
  }

  /** Notes that the worker ends. The caller holds the monitor. */
  void end(@Nullable Throwable by) {
    hasEnded = true;
    endedBy = by;
  }

  /**
   * Returns whether the worker fills no more batches, even if it died before it could note that.
   * The caller holds the monitor.
   */
  boolean hasEnded() {
    return hasEnded || getState() == State.TERMINATED;
  }

  /** Returns the failure that ended the worker; null if its engine ended it. */
  @Nullable Throwable endedBy() {
    return endedBy;
  }

  /** Returns the worker's activity, for a message. The caller holds the monitor. */
  String describe(long now) {
    BatchTask task = current;
    if (task == null) {
      return "worker %d is %s".formatted(number(), isStarting ? "starting" : "idle");
    }
    return "worker %d has been %s, %s".formatted(number(), task.describe(now), place(this));
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
