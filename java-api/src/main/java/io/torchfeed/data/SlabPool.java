// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.memory.Slab;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/**
 * The slabs of a feed that nobody writes. A slab that a tensor still views is left to it, unless it
 * is page-locked: then a copy to a device reads it, and it is used again after that. Not
 * thread-safe, except {@link #allocate}.
 */
final class SlabPool {
  /** More are not copies that are late, but batches that somebody keeps. */
  private static final int MOST_READ = 8;

  private final BatchLayout layout;
  private final int rows;
  private final Deque<Slab> free = new ArrayDeque<>();
  private final Deque<Slab> read = new ArrayDeque<>(); // by copies
  private volatile @Nullable String device;

  SlabPool(BatchLayout layout, int rows) {
    this.layout = layout;
    this.rows = rows;
  }

  /** Makes slabs from now on of memory that is page-locked for a device. */
  void pinFor(String device) {
    this.device = device;
  }

  /** A slab that may be written, or null if there is none. */
  @Nullable Slab poll() {
    for (Iterator<Slab> slabs = read.iterator(); slabs.hasNext(); ) {
      Slab slab = slabs.next();
      if (slab.isFree()) {
        slabs.remove();
        return slab;
      }
    }
    return free.poll();
  }

  Slab allocate() {
    String pinnedFor = device;
    return pinnedFor == null
        ? Slab.allocate(layout.slabColumns(), rows)
        : Slab.allocatePinned(layout.slabColumns(), rows, pinnedFor);
  }

  void giveBack(Slab slab) {
    if (slab.isFree()) {
      free.push(slab); // taken first: the caches may still have it
    } else if (slab.isPinned()) {
      read.add(slab);
      if (read.size() > MOST_READ) {
        read.remove().close();
      }
    } else {
      slab.close();
    }
  }

  /** Lets go of all slabs; what views them keeps them. */
  void clear() {
    free.forEach(Slab::close);
    free.clear();
    read.forEach(Slab::close);
    read.clear();
  }
}
