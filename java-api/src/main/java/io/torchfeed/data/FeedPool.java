// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The passes of a loader that are open, and the feeds that wait for the next ones. Thread-safe.
 *
 * @param <P> a pass
 * @param <F> a feed, which serves one pass at a time
 */
final class FeedPool<P, F extends Feed> {
  /** Feeds kept for the next pass; more are needed only while passes run side by side. */
  private static final int IDLE_FEEDS = 2;

  private final String name;
  private final Supplier<F> factory;
  private final Object lock = new Object();
  private final Deque<F> idle = new ArrayDeque<>();
  private final Set<P> open = new HashSet<>();
  private boolean closed;

  /**
   * A pool without feeds.
   *
   * @param name what the loader is called in messages
   */
  FeedPool(String name, Supplier<F> factory) {
    this.name = name;
    this.factory = factory;
  }

  void requireOpen() {
    synchronized (lock) {
      if (closed) {
        throw new IllegalStateException(name + " is closed");
      }
    }
  }

  /** A feed for a pass: one that waits, or a new one. */
  F take() {
    synchronized (lock) {
      requireOpen();
      F feed = idle.poll();
      if (feed != null) {
        return feed;
      }
    }
    return factory.get();
  }

  /** Notes that a pass is open. */
  void admit(P pass) {
    synchronized (lock) {
      requireOpen();
      open.add(pass);
    }
  }

  /**
   * Ends a pass: its feed waits for the next one, or is freed. One whose workers are held up is
   * left behind.
   */
  void giveBack(P pass, F feed, long epoch) {
    boolean isKept = false;
    try {
      isKept = forget(pass) && feed.rewind(epoch) && keep(feed);
    } finally {
      if (!isKept) {
        feed.close();
      }
    }
  }

  /** False if there will be no pass any more. */
  private boolean forget(P pass) {
    synchronized (lock) {
      open.remove(pass);
      return !closed;
    }
  }

  /** Lets a feed wait for a pass; false if it is not needed. */
  boolean keep(F feed) {
    synchronized (lock) {
      return !closed && idle.size() < IDLE_FEEDS && idle.add(feed);
    }
  }

  /** Lets no pass begin any more, and tells idle feeds to end; gives the passes to be closed. */
  List<P> beginClosing() {
    synchronized (lock) {
      closed = true;
      idle.forEach(Feed::interrupt);
      return new ArrayList<>(open);
    }
  }

  /** Frees the feeds that wait. */
  void close() {
    List<F> feeds;
    synchronized (lock) {
      feeds = new ArrayList<>(idle);
      idle.clear();
    }
    feeds.forEach(Feed::close);
  }
}
