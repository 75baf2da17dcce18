// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.text;

import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import java.io.IOException;
import java.io.InputStream;

/** Decompression of zstd. A separate class, so that nothing else needs the library. */
final class ZstdText {
  private ZstdText() {}

  static InputStream unpacked(InputStream packed) throws IOException {
    return new ZstdInputStreamNoFinalizer(packed);
  }
}
