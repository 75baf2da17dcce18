// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * 64-bit hashes: the finaliser of SplitMix64, a fold of fields based on it, and FNV-1a of names.
 */
public final class Hash64 {
  /** The increment of SplitMix64: 2^64 divided by the golden ratio. */
  public static final long GAMMA = 0x9E3779B97F4A7C15L;

  private static final long FNV_START = 0xcbf29ce484222325L;
  private static final long FNV_PRIME = 0x100000001b3L;

  private Hash64() {}

  /**
   * Applies the finaliser of SplitMix64: a bijection in which each bit of {@code z} affects all
   * others.
   */
  public static long mix(long z) {
    long mixed = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
    mixed = (mixed ^ mixed >>> 27) * 0x94D049BB133111EBL;
    return mixed ^ mixed >>> 31;
  }

  /** Returns the digest extended by one field. */
  public static long fold(long digest, long field) {
    return mix((digest ^ field) + GAMMA);
  }

  /** Returns the digest of the fields in order, starting from 0. */
  public static long foldAll(long... fields) {
    long digest = 0;
    for (long field : fields) {
      digest = fold(digest, field);
    }
    return digest;
  }

  /** Returns the 64-bit FNV-1a hash of a text in UTF-8. */
  public static long fnv1a(String text) {
    byte[] bytes = text.getBytes(UTF_8);
    return fnv1a(bytes, 0, bytes.length);
  }

  /** Returns the 64-bit FNV-1a hash of the bytes in [start, end). */
  public static long fnv1a(byte[] bytes, int start, int end) {
    long hash = FNV_START;
    for (int i = start; i < end; i++) {
      hash = (hash ^ (bytes[i] & 0xff)) * FNV_PRIME;
    }
    return hash;
  }
}
