// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.pass;

import io.torchfeed.data.engine.BatchEngine;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The open passes of a loader, and the idle engines kept for the next ones. Thread-safe.
 *
 * @param <P> the type of the passes
 * @param <F> the type of the engines, each of which serves one pass at a time
 */
final class EnginePool<P, F extends BatchEngine> {
  /** Engines kept for the next pass; more are needed only while passes run concurrently. */
  private static final int MAX_IDLE = 2;

  private final String name;
  private final Supplier<F> factory;
  private final EngineLimit limit;
  private final Object lock = new Object();
  private final Deque<F> idle = new ArrayDeque<>();
  private final Set<P> open = new HashSet<>();
  private boolean closed;

  /**
   * Creates a pool without engines.
   *
   * @param name the name of the loader in messages
   * @param limit the limit for the engines that passes use
   */
  EnginePool(String name, Supplier<F> factory, EngineLimit limit) {
    this.name = name;
    this.factory = factory;
    this.limit = limit;
  }

  void requireOpen() {
    synchronized (lock) {
      if (closed) {
        throw new IllegalStateException(name + " is closed");
      }
    }
  }

  /**
   * Returns an engine for a pass: an idle one or a new one. {@link #giveBack} or {@link #discard}
   * takes it back.
   *
   * @throws IllegalStateException if the loader is closed, or too many passes use engines
   */
  F take() {
    requireOpen();
    limit.acquire();
    boolean isTaken = false;
    try {
      F engine = idleOrNew();
      isTaken = true;
      return engine;
    } finally {
      if (!isTaken) {
        limit.release();
      }
    }
  }

  private F idleOrNew() {
    synchronized (lock) {
      requireOpen();
      F engine = idle.poll();
      if (engine != null) {
        return engine;
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
   * Takes back the engine of a pass: it is kept for the next pass, or closed. An engine whose
   * workers do not return is abandoned.
   */
  void giveBack(F engine, long epoch) {
    boolean isKept = false;
    try {
      isKept = !isClosed() && engine.rewind(epoch) && keep(engine);
    } finally {
      if (isKept) {
        limit.release();
      } else {
        discard(engine);
      }
    }
  }

  /** Takes back the engine of a pass and closes it. */
  void discard(F engine) {
    try {
      engine.close();
    } finally {
      limit.release();
    }
  }

  private boolean isClosed() {
    synchronized (lock) {
      return closed;
    }
  }

  /** Notes that a pass is closed. */
  void forget(P pass) {
    synchronized (lock) {
      open.remove(pass);
    }
  }

  /** Keeps an idle engine for the next pass; returns false if it is not needed. */
  boolean keep(F engine) {
    synchronized (lock) {
      return !closed && idle.size() < MAX_IDLE && idle.add(engine);
    }
  }

  /**
   * Rejects new passes and interrupts idle engines; returns the open passes, for the caller to
   * close.
   */
  List<P> beginClosing() {
    synchronized (lock) {
      closed = true;
      idle.forEach(BatchEngine::interrupt);
      return new ArrayList<>(open);
    }
  }

  /** Closes the idle engines. */
  void close() {
    List<F> engines;
    synchronized (lock) {
      engines = new ArrayList<>(idle);
      idle.clear();
    }
    engines.forEach(BatchEngine::close);
  }
}
