// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.random.RandomGenerator;

/**
 * Random numbers of one sample in one epoch: SplitMix64 (Steele, Lea and Flood 2014) keyed by seed,
 * epoch and index.
 */
final class SampleRandom implements RandomGenerator {
  private static final long GAMMA = 0x9E3779B97F4A7C15L;

  private long state;

  void begin(long seed, long epoch, long index) {
    state = mix(mix(mix(seed + GAMMA) ^ (epoch + GAMMA)) ^ (index + GAMMA));
  }

  @Override
  public long nextLong() {
    state += GAMMA;
    return mix(state);
  }

  private static long mix(long z) {
    long a = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    long b = (a ^ (a >>> 27)) * 0x94D049BB133111EBL;
    return b ^ (b >>> 31);
  }
}
