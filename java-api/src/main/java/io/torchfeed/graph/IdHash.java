// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.torchfeed.internal.Hash64;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * A 64-bit hash of an id that is a text, over its bytes in UTF-8. It never changes: stored data
 * depends on it.
 */
public enum IdHash {
  /** torchfeed's own hash: FNV-1a, then the finaliser of SplitMix64. */
  FNV_MIX {
    @Override
    long of(byte[] bytes, int start, int end) {
      return Hash64.mix(Hash64.fnv1a(bytes, start, end));
    }
  },

  /**
   * {@code std::hash<std::string>} of GCC's standard library on 64-bit Linux, which Paracel uses
   * there.
   */
  LIBSTDCXX {
    @Override
    long of(byte[] bytes, int start, int end) {
      int length = end - start;
      long hash = MURMUR_SEED ^ length * MURMUR;
      int at = start;
      for (; at <= end - Long.BYTES; at += Long.BYTES) {
        hash = (hash ^ shifted((long) WORD.get(bytes, at) * MURMUR) * MURMUR) * MURMUR;
      }
      if (at < end) {
        long tail = 0;
        for (int i = end - 1; i >= at; i--) {
          tail = (tail << 8) | (bytes[i] & 0xff);
        }
        hash = (hash ^ tail) * MURMUR;
      }
      return shifted(shifted(hash) * MURMUR);
    }
  };

  private static final VarHandle WORD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long MURMUR = 0xc6a4a7935bd1e995L;
  private static final long MURMUR_SEED = 0xc70f6907L;

  private static long shifted(long k) {
    return k ^ (k >>> 47);
  }

  abstract long of(byte[] bytes, int start, int end);

  /**
   * Returns the hash of a text.
   *
   * @param text any text
   * @return its hash, any 64 bits
   */
  public long of(String text) {
    byte[] bytes = text.getBytes(UTF_8);
    return of(bytes, 0, bytes.length);
  }
}
