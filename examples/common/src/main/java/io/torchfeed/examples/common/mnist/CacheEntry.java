// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common.mnist;

import io.torchfeed.examples.common.OutputFile;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** A verified file in the cache: written under another name, checked, then renamed. */
final class CacheEntry {
  private CacheEntry() {}

  static void store(MnistFile file, InputStream content, Path folder) throws IOException {
    OutputFile.write(
        file.in(folder),
        partial -> {
          Files.copy(content, partial, StandardCopyOption.REPLACE_EXISTING);
          file.verify(partial);
        });
  }
}
