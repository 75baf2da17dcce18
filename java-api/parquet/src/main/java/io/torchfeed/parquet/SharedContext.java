// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import dev.hardwood.HardwoodContext;
import org.jspecify.annotations.Nullable;

/** The threads and the memory that all open shards of a stream share. Thread-safe. */
final class SharedContext {
  private final int threads;
  private final ReadMemory memory = new ReadMemory(); // stays for the next epoch

  // Guarded by this.
  private @Nullable HardwoodContext context;
  private int users;

  SharedContext(int threads) {
    this.threads = threads;
  }

  ReadMemory memory() {
    return memory;
  }

  /** Returns the context, which {@link #release} gives back. */
  synchronized HardwoodContext acquire() {
    HardwoodContext shared = context == null ? HardwoodContext.create(threads) : context;
    context = shared;
    users++;
    return shared;
  }

  /** Gives the context back; the last user ends its threads. */
  void release() {
    HardwoodContext unused = null;
    synchronized (this) {
      users--;
      if (users == 0) {
        unused = context;
        context = null;
      }
    }
    if (unused != null) {
      unused.close();
    }
  }
}
