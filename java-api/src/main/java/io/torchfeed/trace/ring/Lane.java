// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.ring;

import java.lang.ref.WeakReference;
import org.jspecify.annotations.Nullable;

/** A thread that has recorded events; a later one of the same name takes its place. */
final class Lane {
  private final int index;
  private final String name;
  private volatile WeakReference<Thread> thread;
  private volatile boolean isRank;
  private long step = -1;

  Lane(int index, Thread thread) {
    this.index = index;
    name = thread.getName();
    this.thread = new WeakReference<>(thread);
  }

  int index() {
    return index;
  }

  String name() {
    return name;
  }

  /** Returns the thread; null if it has ended. */
  @Nullable Thread thread() {
    Thread own = thread.get();
    return own != null && own.isAlive() ? own : null;
  }

  /** Gives the lane to another thread of the same name. */
  void take(Thread next) {
    thread = new WeakReference<>(next);
  }

  /** Returns the step that the thread is in, or -1; of this thread only. */
  long step() {
    return step;
  }

  void step(long number) {
    step = number;
  }

  /** Notes that the thread has called a group, so that its place in the program is of interest. */
  void callsGroups() {
    if (!isRank) {
      isRank = true;
    }
  }

  boolean isRank() {
    return isRank;
  }
}
