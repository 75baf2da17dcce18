// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The memory for the bytes of row groups, used again for later ones: pages of fresh memory take
 * longer than the read. It is direct, as codecs take it and files fill it. Thread-safe.
 */
final class ReadMemory {
  private static final int SMALL = 1 << 12; // bytes
  private static final int STEPS = 8; // from a power of 2 to the next

  // Guarded by this.
  private final List<ByteBuffer> free = new ArrayList<>(); // the smallest is the first
  private long allocated;

  /** Returns whether a read of this size uses the memory. */
  static boolean isReused(int bytes) {
    return bytes > SMALL;
  }

  /**
   * Returns a buffer with room for some bytes. If all are too small, a new one takes the place of
   * the largest, which bounds their number by the most in use at once.
   */
  synchronized ByteBuffer take(int bytes) {
    for (int i = 0; i < free.size(); i++) {
      if (free.get(i).capacity() >= bytes) {
        return free.remove(i).clear();
      }
    }
    if (!free.isEmpty()) {
      free.remove(free.size() - 1);
    }
    allocated += rounded(bytes);
    return ByteBuffer.allocateDirect(rounded(bytes));
  }

  /** Gives back buffers that no thread reads or writes. */
  synchronized void give(List<ByteBuffer> buffers) {
    free.addAll(buffers);
    free.sort(Comparator.comparingInt(ByteBuffer::capacity));
  }

  /** Returns how many bytes were allocated so far, for tests. */
  synchronized long allocated() {
    return allocated;
  }

  /** Rounds up, since row groups differ a little. */
  private static int rounded(int bytes) {
    int step = Integer.highestOneBit(bytes) / STEPS;
    return (int) Math.min(Integer.MAX_VALUE, (bytes + step - 1L) / step * step);
  }
}
