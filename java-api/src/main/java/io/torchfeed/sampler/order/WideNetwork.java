// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.internal.Hash64;
import io.torchfeed.internal.SplitMix;

/**
 * A permutation of more values than {@link MixedRadixNetwork} can take: a Feistel network of eight
 * rounds of 64-bit mixing over the next power of two, with cycle walking until the value is below
 * n, which takes fewer than two steps on average.
 *
 * <p>Format: with w the bit length of n-1, the low half has a = w/2 bits, the high half c = w-a;
 * keys k0..k7 are the key stream's next words. Rounds i = 0, 2, 4, 6: high ^= mix64(low + k(i)) >>>
 * (64 - c), then low ^= mix64(high + k(i+1)) >>> (64 - a).
 */
final class WideNetwork implements Bijection {
  private static final int ROUNDS = 8;

  private final long n;
  private final int lowBits;
  private final int highBits;
  private final long[] keys = new long[ROUNDS];

  /**
   * Creates a permutation.
   *
   * @param n in [2, 2<sup>62</sup>]
   * @param keys the key stream
   */
  WideNetwork(long n, SplitMix keys) {
    this.n = n;
    int bits = Long.SIZE - Long.numberOfLeadingZeros(n - 1);
    lowBits = bits / 2;
    highBits = bits - lowBits;
    for (int i = 0; i < ROUNDS; i++) {
      this.keys[i] = keys.nextLong();
    }
  }

  @Override
  public long at(long index) {
    long value = index;
    do {
      long high = value >>> lowBits;
      long low = value & ((1L << lowBits) - 1);
      for (int i = 0; i < ROUNDS; i += 2) {
        high ^= Hash64.mix(low + keys[i]) >>> (Long.SIZE - highBits);
        low ^= Hash64.mix(high + keys[i + 1]) >>> (Long.SIZE - lowBits);
      }
      value = (high << lowBits) | low;
    } while (value >= n);
    return value;
  }

  @Override
  public long indexOf(long value) {
    long index = value;
    do {
      long high = index >>> lowBits;
      long low = index & ((1L << lowBits) - 1);
      for (int i = ROUNDS - 2; i >= 0; i -= 2) {
        low ^= Hash64.mix(high + keys[i + 1]) >>> (Long.SIZE - lowBits);
        high ^= Hash64.mix(low + keys[i]) >>> (Long.SIZE - highBits);
      }
      index = (high << lowBits) | low;
    } while (index >= n);
    return index;
  }
}
