// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.function.IntToLongFunction;

/** The hash that stands for a list in {@link PlanParameters}: SHA-256 of 8 bytes an element. */
final class ListHash {
  private static final int CHUNK = 8192;

  private ListHash() {}

  static String of(double[] list) {
    return of(list.length, i -> Double.doubleToLongBits(list[i]));
  }

  static String of(IndexList list) {
    return of(list.length(), list::get);
  }

  private static String of(int length, IntToLongFunction list) {
    MessageDigest digest = sha256();
    ByteBuffer chunk = ByteBuffer.allocate(CHUNK);
    for (int i = 0; i < length; i++) { // stored digests: these bytes must never change
      chunk.putLong(list.applyAsLong(i));
      if (!chunk.hasRemaining() || i == length - 1) {
        digest.update(chunk.flip());
        chunk.clear();
      }
    }
    return HexFormat.of().formatHex(digest.digest());
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java platform has SHA-256", e);
    }
  }
}
