// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.List;
import java.util.StringJoiner;
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

  /** What workers are doing; called by the holder of the feed's lock. */
  static String describe(List<FeedWorker> crew) {
    StringJoiner description = new StringJoiner("; ");
    long now = System.nanoTime();
    for (FeedWorker worker : crew) {
      FillTask task = worker.current;
      if (task == null) {
        description.add(
            "worker %d is %s".formatted(worker.number, worker.beginning ? "starting" : "idle"));
      } else {
        description.add(
            "worker %d has been reading sample %d of batch %d for %.1f s, %s"
                .formatted(
                    worker.number,
                    task.sample.get(),
                    task.batch,
                    (now - task.since.get()) / 1e9,
                    place(worker)));
      }
    }
    return description.toString();
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
