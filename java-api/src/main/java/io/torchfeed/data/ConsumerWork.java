// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.Slab;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What the consumer of a feed without workers does itself: it makes a batch when it takes one.
 * Apart from {@link #run} and {@link #stop}, for the holder of the feed's lock.
 */
final class ConsumerWork {
  private final JavaFeedOptions options;
  private @Nullable FillTask task;
  private @Nullable Thread thread; // that makes it

  // What follows belongs to the consumer.
  private @Nullable SampleWriter writer;
  private int number = -1;
  private @Nullable Throwable cannotBegin;
  private volatile boolean begun;

  ConsumerWork(JavaFeedOptions options) {
    this.options = options;
  }

  /** The calling thread begins to make a batch; gives whether it was interrupted before. */
  boolean begin(FillTask next) {
    task = next;
    thread = Thread.currentThread();
    return Thread.interrupted();
  }

  /** Makes the batch, without the lock; what it throws is in the task. */
  void run(FillTask next, Supplier<Slab> slabs) {
    try {
      beginHooks();
      if (cannotBegin == null) {
        next.fill(slabs.get(), options, writer());
      } else {
        next.error = cannotBegin;
      }
    } catch (Throwable e) {
      next.error = e;
    }
  }

  private SampleWriter writer() {
    SampleWriter made = writer;
    if (made == null) {
      made = new SampleWriter(options.layout());
      writer = made;
    }
    return made;
  }

  private void beginHooks() {
    if (number < 0) {
      number = options.workerNumbers().getAndIncrement();
      try {
        options.hooks().start(number);
        begun = true;
      } catch (Throwable e) {
        cannotBegin = e;
      }
    }
  }

  /** The batch is made, or not to be had. */
  void end(FillTask made, boolean wasInterruptedBefore) {
    task = null;
    thread = null;
    made.done = true;
    // An interrupt is the consumer's business, unless the feed sent it.
    boolean wasInterrupted = Thread.interrupted() || made.wasInterrupted;
    if (wasInterruptedBefore || (wasInterrupted && !made.cancelled)) {
      Thread.currentThread().interrupt();
    }
  }

  /** Tells a consumer that is making a batch that it is not wanted. */
  void cancel() {
    FillTask running = task;
    Thread consumer = thread;
    if (running != null && consumer != null) {
      running.cancelled = true;
      if (consumer != Thread.currentThread()) {
        consumer.interrupt();
      }
    }
  }

  /** The feed is closed. */
  void stop() {
    if (begun) {
      options.stopQuietly(number);
    }
  }
}
