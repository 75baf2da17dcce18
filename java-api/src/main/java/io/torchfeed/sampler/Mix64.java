// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.nio.charset.StandardCharsets.UTF_8;

/** Hashes of 64 bits: the finaliser of SplitMix64, a fold of fields with it, FNV-1a of names. */
final class Mix64 {
  /** The increment of SplitMix64: 2^64 divided by the golden ratio. */
  static final long GAMMA = 0x9E3779B97F4A7C15L;

  private static final long FNV_START = 0xcbf29ce484222325L;
  private static final long FNV_PRIME = 0x100000001b3L;

  private Mix64() {}

  /** The finaliser of SplitMix64: a bijection in which each bit of {@code z} reaches all others. */
  static long mix(long z) {
    long mixed = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
    mixed = (mixed ^ mixed >>> 27) * 0x94D049BB133111EBL;
    return mixed ^ mixed >>> 31;
  }

  /** A digest and one more field. */
  static long fold(long digest, long field) {
    return mix((digest ^ field) + GAMMA);
  }

  /** A digest, from 0 on, of fields in their order. */
  static long foldAll(long... fields) {
    long digest = 0;
    for (long field : fields) {
      digest = fold(digest, field);
    }
    return digest;
  }

  /** FNV-1a with 64 bits of a text in UTF-8. */
  static long fnv1a(String text) {
    long hash = FNV_START;
    for (byte b : text.getBytes(UTF_8)) {
      hash = (hash ^ (b & 0xff)) * FNV_PRIME;
    }
    return hash;
  }
}
