// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.io.ByteArrayOutputStream;

/** Numbers of 64 bits in 1 to 10 bytes: seven bits in each, the lowest first. */
public final class Varint {
  private static final int BITS = 7;
  private static final int MORE = 1 << BITS;

  private Varint() {}

  /** Writes a number, which is taken as unsigned: small ones need few bytes. */
  public static void write(long number, ByteArrayOutputStream out) {
    long rest = number;
    while ((rest & -MORE) != 0) {
      out.write((int) (rest & (MORE - 1)) | MORE);
      rest >>>= BITS;
    }
    out.write((int) rest);
  }
}
