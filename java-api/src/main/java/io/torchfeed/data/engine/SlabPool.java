// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.engine;

import io.torchfeed.data.task.BatchLayout;
import io.torchfeed.memory.Slab;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The free slabs of an engine. A slab still referenced by a tensor is abandoned to it, unless the
 * slab is page-locked: such a slab is being copied to a device, and is reused after that. Not
 * thread-safe, except {@link #allocate}.
 */
final class SlabPool implements AutoCloseable {
  /**
   * The limit of slabs being copied. Beyond it, slabs are held by kept batches rather than by late
   * copies.
   */
  private static final int MAX_READ = 8;

  private final BatchLayout layout;
  private final int rows;
  private final List<Slab> free = new ArrayList<>(); // taken from its end
  private final List<Slab> read = new ArrayList<>(MAX_READ + 1); // slabs being copied
  private @Nullable Slab lent; // of the batch that the consumer has taken last
  private volatile @Nullable String device;
  private boolean once;
  private boolean closed;
  private final AtomicInteger fresh = new AtomicInteger();

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
    for (int i = 0; i < read.size(); i++) {
      if (read.get(i).isFree()) {
        return read.remove(i);
      }
    }
    return free.isEmpty() ? null : free.remove(free.size() - 1);
  }

  public Slab allocate() {
    String pinnedFor = device;
    Slab slab =
        pinnedFor == null
            ? Slab.allocate(layout.slabColumns(), rows)
            : Slab.allocatePinned(layout.slabColumns(), rows, pinnedFor);
    fresh.incrementAndGet();
    return slab;
  }

  /** Returns the number of slabs allocated since the last call, except for those used once. */
  int takeFresh() {
    int allocated = fresh.getAndSet(0);
    return once ? 0 : allocated;
  }

  /** Takes a slab back, or frees it; null: none. Does not fail for lack of memory. */
  public void giveBack(@Nullable Slab slab) {
    if (slab == null) {
      return;
    }
    if (once || closed) {
      slab.close();
    } else if (slab.isFree()) {
      keep(slab);
    } else if (slab.isPinned()) {
      read.add(slab);
      if (read.size() > MAX_READ) {
        read.remove(0).close();
      }
    } else {
      slab.close();
    }
  }

  /** Notes the slab of the batch that the consumer takes; null: none. */
  public void lend(@Nullable Slab slab) {
    lent = slab;
  }

  /** Takes the slab back that was lent last. */
  public void takeBackLent() {
    giveBack(lent);
    lent = null;
  }

  private void keep(Slab slab) {
    try {
      free.add(slab); // taken first: may still be in the caches
    } catch (OutOfMemoryError noRoom) {
      slab.close();
    }
  }

  /** Frees all slabs, and those given back later; tensors that refer to them keep their memory. */
  @Override
  public void close() {
    closed = true;
    clear(free);
    clear(read);
  }

  private static void clear(List<Slab> slabs) {
    while (!slabs.isEmpty()) {
      slabs.remove(slabs.size() - 1).close();
    }
  }
}
