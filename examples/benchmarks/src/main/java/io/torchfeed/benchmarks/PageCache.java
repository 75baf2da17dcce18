// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import java.io.IOException;
import java.nio.file.Path;

/** The operating system's page cache. */
public final class PageCache {
  private PageCache() {}

  /** Drops the clean pages of a file. */
  public static void drop(Path file) throws IOException, InterruptedException {
    int status =
        new ProcessBuilder("dd", "if=" + file, "iflag=nocache", "count=0", "status=none")
            .inheritIO()
            .start()
            .waitFor();
    if (status != 0) {
      throw new IOException("dd exited with status " + status);
    }
  }
}
