// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import io.torchfeed.internal.SplitMix;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The permutation for all usual sizes: a Feistel network of eight rounds of 32-bit mixing over a
 * power of two times another radix, so that its domain is hardly larger than requested.
 *
 * <p>Format: with w the bit length of n-1, the low half has k = max(w/2, w-16) bits and the high
 * half is a number below b = ceil(n / 2<sup>k</sup>), at most 2<sup>16</sup>. Round i has two keys
 * of 32 bits, p(i) and q(i): the low and the high half of the key stream's next word. In wrapping
 * 32-bit arithmetic, its function is
 *
 * <pre>{@literal
 * f(i, x): x += p(i); x ^= x >>> 16; x *= 0x7feb352d; x ^= x >>> 15; x += q(i); x *= 0x846ca68b
 * }</pre>
 *
 * <p>Rounds i = 0, 2, 4, 6: low ^= f(i, high) >>> (32 - k), then high = (high + floor(f(i+1, low) *
 * b / 2<sup>32</sup>)) mod b. A result that is not below n (as with fewer than 2<sup>k</sup>
 * elements, at most 1.6 %) goes through the network again.
 *
 * <p>The multipliers come from Wellons' {@code lowbias32}.
 */
final class MixedRadixNetwork implements Bijection {
  /** The largest n for which the low half fits an int and the high half fits 16 bits. */
  static final long MAX_SIZE = 1L << 47;

  // Statistical tests fail with five rounds and pass from six on.
  private static final int ROUNDS = 8;
  private static final int CHUNK = 512;
  private static final int FEW = 8;

  private final long n;
  private final int lowBits;
  private final int lowMask;
  private final int highRadix;
  private final int[] keys = new int[2 * ROUNDS];
  private final AtomicReference<@Nullable Chunk> spare = new AtomicReference<>();

  /**
   * Creates a permutation.
   *
   * @param n in [4097, 2<sup>47</sup>]
   * @param keys the key stream
   */
  MixedRadixNetwork(long n, SplitMix keys) {
    this.n = n;
    int bits = Long.SIZE - Long.numberOfLeadingZeros(n - 1);
    lowBits = Math.max(bits / 2, bits - Short.SIZE);
    lowMask = (int) ((1L << lowBits) - 1);
    highRadix = (int) ((n - 1) >>> lowBits) + 1;
    for (int i = 0; i < 2 * ROUNDS; i += 2) {
      long word = keys.nextLong();
      this.keys[i] = (int) word;
      this.keys[i + 1] = (int) (word >>> Integer.SIZE);
    }
  }

  @Override
  public long at(long index) {
    long value = index;
    do {
      int low = (int) value & lowMask;
      int high = (int) (value >>> lowBits);
      for (int i = 0; i < 2 * ROUNDS; i += 4) {
        low ^= mixed(high, keys[i], keys[i + 1]) >>> (Integer.SIZE - lowBits);
        high = sum(high, scaled(mixed(low, keys[i + 2], keys[i + 3]), highRadix), highRadix);
      }
      value = ((long) high << lowBits) | low;
    } while (value >= n);
    return value;
  }

  @Override
  public long indexOf(long value) {
    long index = value;
    do {
      int low = (int) index & lowMask;
      int high = (int) (index >>> lowBits);
      for (int i = 2 * ROUNDS - 4; i >= 0; i -= 4) {
        int back = highRadix - scaled(mixed(low, keys[i + 2], keys[i + 3]), highRadix);
        high = sum(high, back, highRadix);
        low ^= mixed(high, keys[i], keys[i + 1]) >>> (Integer.SIZE - lowBits);
      }
      index = ((long) high << lowBits) | low;
    } while (index >= n);
    return index;
  }

  @Override
  public void at(long start, long stride, long[] into, int from, int count) {
    if (count < FEW) {
      Bijection.super.at(start, stride, into, from, count);
      return;
    }
    Chunk chunk = spare.getAndSet(null);
    if (chunk == null) {
      chunk = new Chunk();
    }
    for (int done = 0; done < count; done += CHUNK) {
      int size = Math.min(CHUNK, count - done);
      split(start + done * stride, stride, chunk, size);
      for (int i = 0; i < 2 * ROUNDS; i += 4) {
        mixLow(chunk.low, chunk.high, size, keys[i], keys[i + 1], Integer.SIZE - lowBits);
        mixHigh(chunk.high, chunk.low, size, keys[i + 2], keys[i + 3], highRadix);
      }
      join(chunk, into, from + done, size);
    }
    spare.set(chunk);
  }

  private static int mixed(int half, int firstKey, int secondKey) {
    int x = half + firstKey;
    x = (x ^ x >>> 16) * 0x7feb352d;
    return ((x ^ x >>> 15) + secondKey) * 0x846ca68b;
  }

  /**
   * Returns floor(word * radix / 2^32) of an unsigned word, by 32-bit products, since those
   * vectorise.
   */
  private static int scaled(int word, int radix) {
    return ((word >>> 16) * radix + (((word & 0xffff) * radix) >>> 16)) >>> 16;
  }

  /**
   * Returns (number + more) mod radix; {@code number} is less than the radix, {@code more} at most
   * equal to it.
   */
  private static int sum(int number, int more, int radix) {
    int sum = number + more - radix;
    return sum + ((sum >> 31) & radix);
  }

  private void split(long start, long stride, Chunk chunk, int size) {
    int[] low = chunk.low;
    int[] high = chunk.high;
    long index = start;
    for (int i = 0; i < size; i++) {
      low[i] = (int) index & lowMask;
      high[i] = (int) (index >>> lowBits);
      index += stride;
    }
  }

  // Each round is one loop over two int arrays: the form that the JIT compiler vectorises.

  private static void mixLow(int[] low, int[] high, int size, int first, int second, int shift) {
    for (int i = 0; i < size; i++) {
      low[i] ^= mixed(high[i], first, second) >>> shift;
    }
  }

  private static void mixHigh(int[] high, int[] low, int size, int first, int second, int radix) {
    for (int i = 0; i < size; i++) {
      high[i] = sum(high[i], scaled(mixed(low[i], first, second), radix), radix);
    }
  }

  private void join(Chunk chunk, long[] into, int from, int size) {
    int[] low = chunk.low;
    int[] high = chunk.high;
    for (int i = 0; i < size; i++) {
      long value = ((long) high[i] << lowBits) | low[i];
      into[from + i] = value < n ? value : at(value);
    }
  }

  /** The halves of consecutive elements, kept between calls to avoid allocation. */
  private static final class Chunk {
    final int[] low = new int[CHUNK];
    final int[] high = new int[CHUNK];
  }
}
