// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** A verified file in the cache: written under another name, checked, then renamed. */
final class CacheEntry {
  private CacheEntry() {}

  static void store(MnistFile file, InputStream content, Path folder) throws IOException {
    Path temporary = Files.createTempFile(folder, file.fileName(), ".part");
    try {
      Files.copy(content, temporary, StandardCopyOption.REPLACE_EXISTING);
      file.verify(temporary);
      // Files.createTempFile sets owner-only permissions, but the cache may be shared.
      temporary.toFile().setReadable(true, false);
      Files.move(temporary, file.in(folder), StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(temporary);
    }
  }
}
