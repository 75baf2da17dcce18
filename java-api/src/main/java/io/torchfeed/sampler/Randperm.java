// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.HashMap;
import java.util.Map;

/** {@code torch.randperm} of torch 2.10.0 on the CPU, for lists that fit an array. */
final class Randperm {
  /** From this length on torch uses the other of its two rules: (2^32 - 1) / 20. */
  static final int SWITCH = 214_748_364;

  /** A part at most this small is computed without the list that it is a part of. */
  private static final int SMALL_PART = 64;

  /** Swaps wait for memory; with their draws out of the way, several wait at once. */
  private static final int BLOCK = 1024;

  private Randperm() {}

  /** How many outputs of the generator a permutation of n takes. */
  static long outputs(int n) {
    return n < SWITCH ? Math.max(0, n - 1) : 2L * n;
  }

  /**
   * Writes the first {@code count} values of {@code randperm(n)}. Only after all n values is the
   * generator where torch leaves it.
   *
   * @param n at least 0
   * @param count at most n
   */
  static void write(Mt19937 generator, int n, int[] into, int from, int count) {
    if (n >= SWITCH) {
      writeInsideOut(generator, n, into, from, count);
    } else if (count == n) {
      shuffle(generator, n, into, from, n - 1);
    } else if (count <= n / SMALL_PART) {
      writeSmallPart(generator, n, into, from, count);
    } else {
      int[] whole = new int[n];
      shuffle(generator, n, whole, 0, count);
      System.arraycopy(whole, 0, into, from, count);
    }
  }

  private static void shuffle(Mt19937 generator, int n, int[] into, int from, int steps) {
    for (int i = 0; i < n; i++) {
      into[from + i] = i;
    }
    int[] distances = new int[Math.min(BLOCK, Math.max(0, steps))];
    for (int start = 0; start < steps; start += BLOCK) {
      int count = Math.min(BLOCK, steps - start);
      draw(generator, n - start, distances, count);
      swap(into, from + start, distances, count);
    }
  }

  /** How far the next positions are from those they are swapped with. */
  private static void draw(Mt19937 generator, int left, int[] distances, int count) {
    for (int i = 0; i < count; i++) {
      distances[i] = below(left - i, generator);
    }
  }

  private static void swap(int[] list, int from, int[] distances, int count) {
    for (int i = 0; i < count; i++) {
      int left = from + i;
      int right = left + distances[i];
      int value = list[left];
      list[left] = list[right];
      list[right] = value;
    }
  }

  /** The same as {@link #shuffle}, where only the values that have moved are held. */
  private static void writeSmallPart(Mt19937 generator, int n, int[] into, int from, int count) {
    Map<Integer, Integer> moved = new HashMap<>();
    for (int i = 0; i < count; i++) {
      int right = i + below(n - i, generator);
      into[from + i] = moved.getOrDefault(right, right);
      moved.put(right, moved.getOrDefault(i, i));
      moved.remove(i);
    }
  }

  /** The rule for long lists; positions from {@code count} on are never read again. */
  static void writeInsideOut(Mt19937 generator, int n, int[] into, int from, int count) {
    for (int i = 0; i < n; i++) {
      int other = (int) Long.remainderUnsigned(generator.nextLong(), i + 1L);
      if (i < count) {
        into[from + i] = into[from + other];
      }
      if (other < count) {
        into[from + other] = i;
      }
    }
  }

  /**
   * The next output modulo {@code bound}. The quotient of two numbers below 2^32, rounded to 53
   * bits, never reaches the next integer, so division of doubles is exact here, and faster.
   */
  private static int below(int bound, Mt19937 generator) {
    long output = generator.nextUnsigned();
    long quotient = (long) ((double) output / bound);
    return (int) (output - quotient * bound);
  }
}
