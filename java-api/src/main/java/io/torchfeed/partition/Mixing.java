// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static java.nio.charset.StandardCharsets.UTF_8;

/** Hashes of 64 bits: the finaliser of SplitMix64, a fold of fields with it, FNV-1a of bytes. */
final class Mixing {
  private static final long GAMMA = 0x9E3779B97F4A7C15L;
  private static final long FNV_START = 0xcbf29ce484222325L;
  private static final long FNV_PRIME = 0x100000001b3L;

  private Mixing() {}

  static long mix64(long z) {
    long mixed = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
    mixed = (mixed ^ mixed >>> 27) * 0x94D049BB133111EBL;
    return mixed ^ mixed >>> 31;
  }

  static long fold(long digest, long field) {
    return mix64((digest ^ field) + GAMMA);
  }

  static long fnv1a(byte[] bytes, int start, int end) {
    long hash = FNV_START;
    for (int i = start; i < end; i++) {
      hash = (hash ^ (bytes[i] & 0xff)) * FNV_PRIME;
    }
    return hash;
  }

  static long fnv1a(String text) {
    byte[] bytes = text.getBytes(UTF_8);
    return fnv1a(bytes, 0, bytes.length);
  }
}
