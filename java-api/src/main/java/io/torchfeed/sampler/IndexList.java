// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import java.util.function.IntFunction;
import java.util.stream.LongStream;

/** A list of indices: 4 bytes for each when all fit an int, otherwise 8. */
abstract class IndexList {
  /** The longest list that fits an array. */
  static final int LONGEST = Integer.MAX_VALUE - 8;

  /** The list that has these numbers and may change them. */
  static IndexList of(int[] indices) {
    return new Ints(indices);
  }

  /** A list of zeros. */
  static IndexList ofLength(Object plan, long length, long largest) {
    return largest <= Integer.MAX_VALUE
        ? new Ints(ints(plan, length))
        : new Longs(allocate(plan, length, Long.BYTES, long[]::new));
  }

  /** A copy of these numbers. */
  static IndexList copyOf(Object plan, long[] indices) {
    IndexList list = ofLength(plan, indices.length, LongStream.of(indices).max().orElse(0));
    for (int i = 0; i < indices.length; i++) {
      list.set(i, indices[i]);
    }
    return list;
  }

  /** An array for a plan, whose lack of memory is no error of the machine. */
  static int[] ints(Object plan, long length) {
    return allocate(plan, length, Integer.BYTES, int[]::new);
  }

  private static <T> T allocate(Object plan, long length, int bytes, IntFunction<T> array) {
    try {
      return array.apply(Math.toIntExact(length));
    } catch (OutOfMemoryError e) {
      throw new IllegalStateException(
          "the index list of %s takes %d bytes, but the Java heap grows to %d at most; raise -Xmx"
              .formatted(plan, length * bytes, Runtime.getRuntime().maxMemory()),
          e);
    }
  }

  abstract int length();

  abstract long get(int i);

  abstract void set(int i, long index);

  /** Writes the elements {@code start}, {@code start + stride}, … */
  abstract void read(long start, long stride, long[] into, int from, int count);

  /** The list of this list's elements at the given positions, which it may overwrite. */
  abstract IndexList select(Object plan, int[] positions);

  private static final class Ints extends IndexList {
    private final int[] indices;

    Ints(int[] indices) {
      this.indices = indices;
    }

    @Override
    int length() {
      return indices.length;
    }

    @Override
    long get(int i) {
      return indices[i];
    }

    @Override
    void set(int i, long index) {
      indices[i] = (int) index;
    }

    @Override
    void read(long start, long stride, long[] into, int from, int count) {
      for (int i = 0; i < count; i++) {
        into[from + i] = indices[(int) (start + i * stride)];
      }
    }

    @Override
    IndexList select(Object plan, int[] positions) {
      for (int i = 0; i < positions.length; i++) {
        positions[i] = indices[positions[i]];
      }
      return new Ints(positions);
    }
  }

  private static final class Longs extends IndexList {
    private final long[] indices;

    Longs(long[] indices) {
      this.indices = indices;
    }

    @Override
    int length() {
      return indices.length;
    }

    @Override
    long get(int i) {
      return indices[i];
    }

    @Override
    void set(int i, long index) {
      indices[i] = index;
    }

    @Override
    void read(long start, long stride, long[] into, int from, int count) {
      for (int i = 0; i < count; i++) {
        into[from + i] = indices[(int) (start + i * stride)];
      }
    }

    @Override
    IndexList select(Object plan, int[] positions) {
      IndexList selected = ofLength(plan, positions.length, Long.MAX_VALUE);
      for (int i = 0; i < positions.length; i++) {
        selected.set(i, indices[positions[i]]);
      }
      return selected;
    }
  }
}
