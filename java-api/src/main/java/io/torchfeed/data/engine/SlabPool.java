// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.task.BatchLayout;
import io.torchfeed.memory.Slab;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/**
 * The free slabs of an engine. A slab still referenced by a tensor is abandoned to it, unless the
 * slab is page-locked: such a slab is being copied to a device, and is reused after that. Not
 * thread-safe, except {@link #allocate}.
 */
final class SlabPool {
  /**
   * The limit of slabs being copied. Beyond it, slabs are held by kept batches rather than by late
   * copies.
   */
  private static final int MAX_READ = 8;

  private final BatchLayout layout;
  private final int rows;
  private final Deque<Slab> free = new ArrayDeque<>();
  private final Deque<Slab> read = new ArrayDeque<>(); // slabs being copied
  private volatile @Nullable String device;
  private boolean once;

  public SlabPool(BatchLayout layout, int rows) {
    this.layout = layout;
    this.rows = rows;
  }

  /**
   * Allocates slabs from now on in memory that is page-locked for a device.
   *
   * @param once whether a slab is never reused: libtorch's allocator reuses its memory after all
   *     copies, including the consumer's
   */
  public void pinFor(String device, boolean once) {
    this.device = device;
    this.once = once;
  }

  /** Returns a slab that may be written, or null if there is none. */
  public @Nullable Slab poll() {
    for (Iterator<Slab> slabs = read.iterator(); slabs.hasNext(); ) {
      Slab slab = slabs.next();
      if (slab.isFree()) {
        slabs.remove();
        return slab;
      }
    }
    return free.poll();
  }

  public Slab allocate() {
    String pinnedFor = device;
    return pinnedFor == null
        ? Slab.allocate(layout.slabColumns(), rows)
        : Slab.allocatePinned(layout.slabColumns(), rows, pinnedFor);
  }

  public void giveBack(Slab slab) {
    if (once) {
      slab.close();
    } else if (slab.isFree()) {
      free.push(slab); // taken first: may still be in the caches
    } else if (slab.isPinned()) {
      read.add(slab);
      if (read.size() > MAX_READ) {
        read.remove().close();
      }
    } else {
      slab.close();
    }
  }

  /** Releases all slabs; tensors that refer to them keep their memory. */
  public void clear() {
    free.forEach(Slab::close);
    free.clear();
    read.forEach(Slab::close);
    read.clear();
  }
}
