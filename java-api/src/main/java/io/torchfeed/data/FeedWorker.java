// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import org.jspecify.annotations.Nullable;

/** A thread that fills batches until its feed sends it home. */
final class FeedWorker extends Thread {
  private final JavaFeed feed;
  private final int number;

  /** What it fills; belongs to the holder of the feed's lock. */
  @Nullable FillTask current;

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
}
