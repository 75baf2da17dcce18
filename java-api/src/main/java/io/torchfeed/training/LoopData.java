// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.Part;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The loader of a loop, which is opened again when the part of this rank has changed. */
final class LoopData {
  private final @Nullable Function<Part, DataLoader> open;
  private @Nullable DataLoader loader;
  private @Nullable Part part;

  private LoopData(@Nullable Function<Part, DataLoader> open, @Nullable DataLoader loader) {
    this.open = open;
    this.loader = loader;
  }

  static LoopData borrowed(DataLoader loader) {
    return new LoopData(null, loader);
  }

  static LoopData opened(Function<Part, DataLoader> open) {
    return new LoopData(open, null);
  }

  /** Opens the loader of a part, unless it is open. */
  void take(Part now) {
    if (open != null && !now.equals(part)) {
      close();
      part = now;
      loader = requireNonNull(open.apply(now), "the loader of a part");
    }
  }

  DataLoader loader() {
    return requireNonNull(loader, "the loader of a part");
  }

  /** Closes the loader, unless it is borrowed. */
  void close() {
    if (loader != null && open != null) {
      loader.close();
      loader = null;
      part = null;
    }
  }
}
