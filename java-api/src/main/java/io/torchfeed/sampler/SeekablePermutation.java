// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.Objects;

/**
 * A pseudo-random permutation of [0, n) that is computed, not stored: the value at any index and
 * the index of any value, in constant time on average.
 *
 * <p>It is a function of n, seed and epoch alone, the same on every machine and in every version,
 * so a shuffled order of a billion samples opens at once and is read from any place. It holds less
 * than 20 KiB, whatever n is. No call allocates anything, apart from the first bulk one and those
 * that run while another thread is in one. A seed is not a secret: this is no cipher to hide
 * behind.
 *
 * <p>The algorithm is torchfeed's own. Up to 4,096 numbers it is a table, shuffled without bias; up
 * to 2<sup>47</sup> a Feistel network of eight rounds over mixed radices; beyond, one over powers
 * of two with cycle walking (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).
 * Immutable; any number of threads may use it.
 */
public final class SeekablePermutation {
  /** The largest n: 2<sup>62</sup>. */
  public static final long LARGEST = 1L << 62;

  private static final long DOMAIN = 0x746F726368666565L; // "torchfee"

  private final long size;
  private final Bijection bijection;

  private SeekablePermutation(long size, Bijection bijection) {
    this.size = size;
    this.bijection = bijection;
  }

  /**
   * The permutation of a seed and an epoch.
   *
   * @param n how many numbers, in [1, 2<sup>62</sup>]
   * @param seed any number
   * @param epoch any number; seed and epoch are mixed, so that (0, 1) and (1, 0) are unrelated
   * @return the permutation
   * @throws IllegalArgumentException if {@code n} is outside of its range
   */
  public static SeekablePermutation of(long n, long seed, long epoch) {
    if (n < 1 || n > LARGEST) {
      throw new IllegalArgumentException("n must be in [1, %d], got %d".formatted(LARGEST, n));
    }
    SplitMix keys = keys(seed, epoch);
    if (n <= ShuffledTable.LARGEST) {
      return new SeekablePermutation(n, new ShuffledTable((int) n, keys));
    }
    return new SeekablePermutation(
        n,
        n <= MixedRadixNetwork.LARGEST ? new MixedRadixNetwork(n, keys) : new WideNetwork(n, keys));
  }

  /** The stream of words that the permutation of a seed and an epoch is made of. */
  static SplitMix keys(long seed, long epoch) {
    return new SplitMix(CounterRandom.key(DOMAIN, seed, epoch));
  }

  /**
   * How many numbers are permuted.
   *
   * @return n
   */
  public long size() {
    return size;
  }

  /**
   * The value at an index.
   *
   * @param index in [0, size() - 1]
   * @return the value, in [0, size() - 1]
   * @throws IndexOutOfBoundsException if {@code index} is outside of that range
   */
  public long at(long index) {
    return bijection.at(Objects.checkIndex(index, size));
  }

  /**
   * The index of a value: {@code indexOf(at(i)) == i}.
   *
   * @param value in [0, size() - 1]
   * @return the index, in [0, size() - 1]
   * @throws IndexOutOfBoundsException if {@code value} is outside of that range
   */
  public long indexOf(long value) {
    return bijection.indexOf(Objects.checkIndex(value, size));
  }

  /**
   * Writes the values at the indices {@code start}, {@code start + stride}, …: several times as
   * fast as one by one.
   *
   * @param start the first index
   * @param stride the step from one index to the next, at least 1
   * @param into receives the values, from element {@code from} on
   * @param from the first element to write
   * @param count how many to write; with 0 no index is read, so {@code start} may be any number
   * @throws IllegalArgumentException if {@code stride} is less than 1
   * @throws IndexOutOfBoundsException if {@code from} and {@code count} do not fit {@code into}, or
   *     one of the indices is outside of [0, size() - 1]; nothing is written then
   */
  public void at(long start, long stride, long[] into, int from, int count) {
    Objects.checkFromIndexSize(from, count, into.length);
    if (stride < 1) {
      throw new IllegalArgumentException("stride must be at least 1, got " + stride);
    }
    if (count == 0) {
      return;
    }
    if (count - 1 > (size - 1 - Objects.checkIndex(start, size)) / stride) {
      throw new IndexOutOfBoundsException(
          "%d indices from %d by %d must be below %d".formatted(count, start, stride, size));
    }
    bijection.at(start, stride, into, from, count);
  }
}
