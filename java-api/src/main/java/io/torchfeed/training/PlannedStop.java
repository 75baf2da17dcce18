// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import io.torchfeed.distributed.KeyValueStore;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.ProcessGroup;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The stop of a training that a rank asks for, after a step that all ranks of a group agree on. Any
 * thread may ask; the other methods are called by the thread of the loop.
 *
 * <p>Without a request no step waits: on each rank a thread looks into the store of the group now
 * and then. When one has asked, the thread tells the steps that its rank has completed, and waits
 * for the numbers of the others. The largest one is the number of a step in which a rank is, so all
 * ranks can reach its end. A rank that has asked, or comes to the end of the step after the number
 * that it has told, waits there until it knows all numbers.
 */
final class PlannedStop {
  private static final String ASKED = "asked";
  private static final String OVER = "over";
  private static final long PAUSE_MILLIS = 200;
  private static final long LAST_WORD_MILLIS = 1000;
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final long UNKNOWN = -1;
  private static final long NEVER = Long.MAX_VALUE;

  private final Object monitor = new Object();
  private @Nullable Thread thread;

  // Guarded by the monitor.
  private boolean isRequested;
  private boolean isAlone = true;
  private boolean isOver;
  private long completed;
  private long told = UNKNOWN;
  private long last = UNKNOWN;

  /** Asks for a stop; from any thread. */
  void request() {
    synchronized (monitor) {
      isRequested = true;
      monitor.notifyAll();
    }
  }

  /**
   * Begins to look for requests of other ranks.
   *
   * @param steps the steps completed
   * @param group the ranks
   * @param run the same number on all ranks, and another one in each run
   */
  void begin(long steps, ProcessGroup group, long run) {
    synchronized (monitor) {
      isAlone = false;
      completed = steps;
    }
    String prefix = "torchfeed-stop-" + Long.toHexString(run) + "-";
    Thread looking = new Thread(() -> look(group, prefix), "torchfeed-stop");
    looking.setDaemon(true);
    looking.start();
    thread = looking;
  }

  /** Returns whether these steps are the last ones; all ranks stop after the same step. */
  boolean isAfter(long steps) throws InterruptedException {
    synchronized (monitor) {
      completed = steps;
      if (isAlone) {
        return isRequested;
      }
      while (last == UNKNOWN && (isRequested || (told != UNKNOWN && steps > told))) {
        monitor.wait();
      }
      return last != UNKNOWN && steps >= last;
    }
  }

  /** Ends the looking; ranks that wait for this one learn that it takes no further step. */
  void end() {
    synchronized (monitor) {
      isOver = true;
      monitor.notifyAll();
    }
    Thread looking = thread;
    thread = null;
    if (looking == null) {
      return;
    }
    boolean wasInterrupted = Thread.interrupted();
    try {
      looking.join(LAST_WORD_MILLIS);
    } catch (InterruptedException e) {
      wasInterrupted = true;
    }
    looking.interrupt(); // if the store does not answer
    if (wasInterrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Runs in a thread of its own. */
  private void look(ProcessGroup group, String prefix) {
    try {
      KeyValueStore store = group.store();
      String key = prefix + "request";
      String request = store.compareSet(key, "", wish());
      while (request.isEmpty()) {
        pause();
        request = store.compareSet(key, "", wish());
      }
      if (request.equals(ASKED)) {
        store.set(prefix + group.rank(), String.valueOf(tell()));
      }
      if (request.equals(ASKED) && !isOver()) {
        String mine = String.valueOf(lastOf(store, prefix, group.size()));
        decide(Long.parseLong(store.compareSet(prefix + "last", "", mine)));
      }
    } catch (PeerLostException | IllegalStateException e) {
      // The store is lost or closed: the next operation of the training reports it.
    } finally {
      decide(NEVER);
    }
  }

  private boolean isOver() {
    synchronized (monitor) {
      return isOver;
    }
  }

  /** Returns the wish of this rank: a stop, its own end, or nothing. */
  private String wish() {
    synchronized (monitor) {
      return isOver ? OVER : isRequested ? ASKED : "";
    }
  }

  private void pause() {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PAUSE_MILLIS);
    synchronized (monitor) {
      try {
        long left = PAUSE_MILLIS;
        while (!isOver && !isRequested && left > 0) {
          monitor.wait(left);
          left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt(); // ends the next call of the store
      }
    }
  }

  /** Returns the steps completed; this rank waits for the decision at the end of the next one. */
  private long tell() {
    synchronized (monitor) {
      told = completed;
      return told;
    }
  }

  /** Returns the step after the largest number that a rank tells; never if one does not answer. */
  private static long lastOf(KeyValueStore store, String prefix, int ranks) {
    List<String> keys = IntStream.range(0, ranks).mapToObj(rank -> prefix + rank).toList();
    return store.await(keys, LIMIT)
        ? 1 + keys.stream().mapToLong(key -> Long.parseLong(read(store, key))).max().orElseThrow()
        : NEVER;
  }

  private static String read(KeyValueStore store, String key) {
    return store.compareSet(key, "", "");
  }

  private void decide(long step) {
    synchronized (monitor) {
      last = last == UNKNOWN ? step : last;
      monitor.notifyAll();
    }
  }
}
