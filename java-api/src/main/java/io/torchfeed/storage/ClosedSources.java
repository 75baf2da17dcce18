// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Closes sources, all of them also if one fails. */
record ClosedSources(List<ByteSource> sources) implements AutoCloseable {
  @Override
  public void close() throws IOException {
    @Nullable IOException first = null;
    for (ByteSource source : sources) {
      try {
        source.close();
      } catch (IOException e) {
        first = first == null ? e : first;
      }
    }
    if (first != null) {
      throw first;
    }
  }
}
