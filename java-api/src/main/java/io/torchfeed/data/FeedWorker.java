// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import org.jspecify.annotations.Nullable;

/** A thread that fills batches until its feed sends it home. */
final class FeedWorker extends Thread {
  private final JavaFeed feed;
  private final int number;

  /** What it fills; belongs to the holder of the feed's lock. */
  @Nullable FillTask current;

  /** Whether it is in its first hook; belongs to the holder of the feed's lock. */
  boolean beginning = true;

  /** Whether it is not to come back for more; belongs to the holder of the feed's lock. */
  boolean dismissed;

  FeedWorker(JavaFeed feed, int number) {
    super("torchfeed-worker-" + number);
    this.feed = feed;
    this.number = number;
    setDaemon(true);
  }

  int number() {
    return number;
  }

  @Override
  public void run() {
    feed.work(this);
  }

  /** What it is doing, in words; called by the holder of the feed's lock. */
  String describe(long now) {
    FillTask task = current;
    if (task == null) {
      return "worker %d is %s".formatted(number, beginning ? "starting" : "idle");
    }
    return "worker %d has been reading sample %d of batch %d for %.1f s, %s"
        .formatted(
            number, task.sample.get(), task.batch, (now - task.since.get()) / 1e9, place(this));
  }

  /** Where a thread is, in the code of whoever wrote the dataset. */
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
