// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.order;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.CounterRandom;
import io.torchfeed.internal.SplitMix;

/**
 * A pseudo-random permutation of [0, n) that is computed, not stored: the value at any index and
 * the index of any value, in constant time on average.
 *
 * <p>It is a function of n, seed and epoch alone, the same on every machine and in every version,
 * so a shuffled order of a billion samples opens at once and can be read from any position. It
 * takes less than 20 KiB for any n. No call allocates, except the first bulk call and bulk calls
 * that overlap with one on another thread. A seed is not a secret: this is not a secure cipher.
 *
 * <p>The algorithm is torchfeed's own. Up to 4,096 numbers it is a table, shuffled without bias; up
 * to 2<sup>47</sup>, a Feistel network of eight rounds over mixed radices; beyond that, one over
 * powers of two with cycle walking (Black and Rogaway, "Ciphers with arbitrary finite domains",
 * 2002). Immutable; any number of threads may use it.
 */
public final class SeekablePermutation {
  /** The largest n: 2<sup>62</sup>. */
  public static final long MAX_SIZE = 1L << 62;

  private static final long DOMAIN = 0x746F726368666565L; // "torchfee"

  private final long size;
  private final Bijection bijection;

  private SeekablePermutation(long size, Bijection bijection) {
    this.size = size;
    this.bijection = bijection;
  }

  /**
   * Returns the permutation of a seed and an epoch.
   *
   * @param n the number of values, in [1, 2<sup>62</sup>]
   * @param seed any value
   * @param epoch any value; seed and epoch are mixed, so that (0, 1) and (1, 0) are unrelated
   * @return the permutation
   * @throws IllegalArgumentException if {@code n} is out of range
   */
  public static SeekablePermutation of(long n, long seed, long epoch) {
    if (n < 1 || n > MAX_SIZE) {
      throw new IllegalArgumentException("n must be in [1, %d], got %d".formatted(MAX_SIZE, n));
    }
    SplitMix keys = keys(seed, epoch);
    if (n <= ShuffledTable.MAX_SIZE) {
      return new SeekablePermutation(n, new ShuffledTable((int) n, keys));
    }
    return new SeekablePermutation(
        n,
        n <= MixedRadixNetwork.MAX_SIZE
            ? new MixedRadixNetwork(n, keys)
            : new WideNetwork(n, keys));
  }

  /** Returns the stream of words from which the permutation of a seed and an epoch is built. */
  static SplitMix keys(long seed, long epoch) {
    return new SplitMix(CounterRandom.key(DOMAIN, seed, epoch));
  }

  /**
   * Returns the number of values permuted.
   *
   * @return n
   */
  public long size() {
    return size;
  }

  /**
   * Returns the value at an index.
   *
   * @param index in [0, size() - 1]
   * @return the value, in [0, size() - 1]
   * @throws IndexOutOfBoundsException if {@code index} is outside that range
   */
  public long at(long index) {
    return bijection.at(Checks.requireIndex("index", index, size));
  }

  /**
   * Returns the index of a value: {@code indexOf(at(i)) == i}.
   *
   * @param value in [0, size() - 1]
   * @return the index, in [0, size() - 1]
   * @throws IndexOutOfBoundsException if {@code value} is outside that range
   */
  public long indexOf(long value) {
    return bijection.indexOf(Checks.requireIndex("value", value, size));
  }

  /**
   * Writes the values at the indices {@code start}, {@code start + stride}, …, several times as
   * fast as one by one.
   *
   * @param start the first index
   * @param stride the step from one index to the next, at least 1
   * @param into receives the values, from element {@code from} on
   * @param from the first element to write
   * @param count the number of values to write; with 0 no index is read, so {@code start} may be
   *     any value
   * @throws IllegalArgumentException if {@code stride} is less than 1
   * @throws IndexOutOfBoundsException if {@code from} and {@code count} do not fit {@code into}, or
   *     one of the indices is outside [0, size() - 1]; nothing is then written
   */
  public void at(long start, long stride, long[] into, int from, int count) {
    requireNonNull(into, "into");
    Checks.requireRoom(into, from, count);
    if (stride < 1) {
      throw new IllegalArgumentException("stride must be at least 1, got " + stride);
    }
    if (count == 0) {
      return;
    }
    if (count - 1 > (size - 1 - Checks.requireIndex("start", start, size)) / stride) {
      throw new IndexOutOfBoundsException(
          "%d indices from %d in steps of %d must be below %d"
              .formatted(count, start, stride, size));
    }
    bijection.at(start, stride, into, from, count);
  }
}
