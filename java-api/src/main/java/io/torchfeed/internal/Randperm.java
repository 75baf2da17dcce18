// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.util.HashMap;
import java.util.Map;

/** {@code torch.randperm} of torch 2.10.0 on the CPU, for lists that fit an array. */
public final class Randperm {
  /** The length from which torch uses the other of its two algorithms: (2^32 - 1) / 20. */
  static final int SWITCH = 214_748_364;

  /** A part of at most {@code n / SMALL_PART} values is computed without the whole list. */
  private static final int SMALL_PART = 64;

  /**
   * The number of swaps drawn at a time: swaps wait for memory, and without draws in between,
   * several wait at once.
   */
  private static final int BLOCK = 1024;

  private Randperm() {}

  /** Returns the number of outputs of the generator that a permutation of n consumes. */
  public static long outputs(int n) {
    return n < SWITCH ? Math.max(0, n - 1) : 2L * n;
  }

  /**
   * Writes the first {@code count} values of {@code randperm(n)}. The generator ends where torch
   * leaves it only if all n values are written.
   *
   * @param n at least 0
   * @param count at most n
   */
  public static void write(Mt19937 generator, int n, int[] into, int from, int count) {
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

  /** Draws the distances of the next positions from those they are swapped with. */
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

  /** Does the same as {@link #shuffle}, but holds only the values that have moved. */
  private static void writeSmallPart(Mt19937 generator, int n, int[] into, int from, int count) {
    Map<Integer, Integer> moved = new HashMap<>();
    for (int i = 0; i < count; i++) {
      int right = i + below(n - i, generator);
      into[from + i] = moved.getOrDefault(right, right);
      moved.put(right, moved.getOrDefault(i, i));
      moved.remove(i);
    }
  }

  /** Applies the algorithm for long lists; positions from {@code count} on are never read again. */
  public static void writeInsideOut(Mt19937 generator, int n, int[] into, int from, int count) {
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
   * Returns the next output modulo {@code bound}. The quotient of two numbers below 2^32, rounded
   * to 53 bits, never reaches the next integer, so dividing doubles is exact here, and faster.
   */
  private static int below(int bound, Mt19937 generator) {
    long output = generator.nextUnsigned();
    long quotient = (long) ((double) output / bound);
    return (int) (output - quotient * bound);
  }
}
