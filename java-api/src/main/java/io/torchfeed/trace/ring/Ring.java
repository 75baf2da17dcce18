// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.ring;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The newest events of a process, in memory of a fixed size. Thread-safe and without locks: a
 * thread that writes never waits, and one that reads leaves out events that are being overwritten.
 */
final class Ring {
  private static final int SLOT = Event.FIELDS + 1;
  private static final long WRITING = -1;
  private static final VarHandle STAMP = MethodHandles.arrayElementVarHandle(long[].class);

  /** Each slot begins with a stamp: 1 more than the number of its event, 0 if it has none. */
  private final long[] slots;

  private final int mask;
  private final AtomicLong next = new AtomicLong();

  /**
   * Creates a ring.
   *
   * @param events a power of 2
   */
  Ring(int events) {
    slots = new long[Math.multiplyExact(events, SLOT)];
    mask = events - 1;
  }

  void add(long start, long end, long tag, long step, long number, long bytes, long extra) {
    long event = next.getAndIncrement();
    int at = ((int) event & mask) * SLOT;
    STAMP.setOpaque(slots, at, WRITING);
    VarHandle.storeStoreFence();
    slots[at + 1 + Event.START] = start;
    slots[at + 1 + Event.END] = end;
    slots[at + 1 + Event.TAG] = tag;
    slots[at + 1 + Event.STEP] = step;
    slots[at + 1 + Event.NUMBER] = number;
    slots[at + 1 + Event.BYTES] = bytes;
    slots[at + 1 + Event.EXTRA] = extra;
    STAMP.setRelease(slots, at, event + 1);
  }

  /** Returns the number of events so far; the ring has the last ones. */
  long total() {
    return next.get();
  }

  /** Returns the fields of the events that the ring has, oldest first. */
  long[] copy() {
    long end = next.get();
    long first = Math.max(0, end - mask - 1);
    long[] all = new long[Math.toIntExact((end - first) * Event.FIELDS)];
    int size = 0;
    for (long event = first; event < end; event++) {
      int at = ((int) event & mask) * SLOT;
      if ((long) STAMP.getAcquire(slots, at) == event + 1) {
        System.arraycopy(slots, at + 1, all, size, Event.FIELDS);
        VarHandle.loadLoadFence();
        if ((long) STAMP.getOpaque(slots, at) == event + 1) {
          size += Event.FIELDS;
        }
      }
    }
    return Arrays.copyOf(all, size);
  }
}
