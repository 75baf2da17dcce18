// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * The workers of a feed. For the holder of the feed's lock, except {@link #joinBriefly}; a worker
 * that calls is not counted among those that are busy.
 */
final class FeedCrew {
  private final List<FeedWorker> workers = new ArrayList<>();

  /**
   * Starts workers until there are so many.
   *
   * @throws IllegalStateException if there can be no more threads
   */
  void fillUp(int size, Supplier<FeedWorker> next) {
    try {
      while (workers.size() < size) {
        FeedWorker worker = next.get();
        worker.start();
        workers.add(worker);
      }
    } catch (OutOfMemoryError e) { // how the JVM says that there are no more threads
      throw new IllegalStateException(
          "%d worker threads could not be started: %s".formatted(size, e.getMessage()), e);
    }
  }

  private static boolean isBusy(FeedWorker worker) {
    return worker.current != null && worker != Thread.currentThread();
  }

  boolean isBusy() {
    return workers.stream().anyMatch(FeedCrew::isBusy);
  }

  /** Tells workers that what they fill is not wanted. */
  void cancel() {
    for (FeedWorker worker : workers) {
      if (worker.current != null) {
        worker.current.cancelled = true;
      }
      if (isBusy(worker)) {
        worker.interrupt();
      }
    }
  }

  /** Interrupts workers that are in their first hook. */
  void interruptBeginning() {
    workers.stream().filter(worker -> worker.beginning).forEach(Thread::interrupt);
  }

  /** Gives up the workers that are busy: they do not come back for more. */
  void dismissBusy() {
    workers.stream().filter(FeedCrew::isBusy).forEach(worker -> worker.dismissed = true);
    workers.removeIf(worker -> worker.dismissed);
  }

  /** Those that are there now. */
  List<FeedWorker> list() {
    return List.copyOf(workers);
  }

  /** What they are doing, in words. */
  String describe() {
    long now = System.nanoTime();
    return workers.stream().map(worker -> worker.describe(now)).collect(Collectors.joining("; "));
  }

  /** Waits for threads to end, until a moment of {@link System#nanoTime}. */
  static void joinBriefly(List<FeedWorker> workers, long end) {
    boolean wasInterrupted = false;
    for (FeedWorker worker : workers) {
      long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
      if (worker != Thread.currentThread() && left > 0) {
        try {
          worker.join(left);
        } catch (InterruptedException e) {
          wasInterrupted = true;
        }
      }
    }
    if (wasInterrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
