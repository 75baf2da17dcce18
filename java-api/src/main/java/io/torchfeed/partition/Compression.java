// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.io.IOException;
import java.io.InputStream;
import java.util.Locale;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;

/** How the text of a file is stored, told by the end of its name. */
public enum Compression {
  /** As it is: the file can be divided at any line. */
  NONE,

  /** Names that end in {@code .gz}: can only be read from the start, so one rank has all of it. */
  GZIP,

  /**
   * Names that end in {@code .zst} or {@code .zstd}: as {@link #GZIP}. Needs the library {@code
   * com.github.luben:zstd-jni}, which torchfeed does not bring along.
   */
  ZSTD;

  private static final int UNPACKED_AT_ONCE = 1 << 16;

  static Compression of(String name) {
    String lower = name.toLowerCase(Locale.ROOT);
    if (lower.endsWith(".zst") || lower.endsWith(".zstd")) {
      return ZSTD;
    }
    return lower.endsWith(".gz") ? GZIP : NONE;
  }

  /** Unpacks; null where there is nothing to unpack. */
  @Nullable InputStream unpacked(InputStream packed) throws IOException {
    return switch (this) {
      case NONE -> null;
      case GZIP -> new GZIPInputStream(packed, UNPACKED_AT_ONCE);
      case ZSTD -> ZstdText.unpacked(packed);
    };
  }
}
