// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import java.io.IOException;
import java.io.InputStream;

/** Unpacks zstd's format. A class of its own, so that nothing else needs the library. */
final class ZstdText {
  private ZstdText() {}

  static InputStream unpacked(InputStream packed) throws IOException {
    return new ZstdInputStreamNoFinalizer(packed);
  }
}
