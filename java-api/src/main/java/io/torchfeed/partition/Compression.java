// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.util.Locale;

/** How the text of a file is stored, told by the end of its name. */
public enum Compression {
  /** As it is: the file can be divided at any line. */
  NONE,

  /** Names that end in {@code .gz}: can only be read from the start, so one rank has all of it. */
  GZIP;

  static Compression of(String name) {
    return name.toLowerCase(Locale.ROOT).endsWith(".gz") ? GZIP : NONE;
  }
}
