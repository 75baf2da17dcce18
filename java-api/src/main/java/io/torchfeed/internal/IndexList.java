// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import java.util.function.IntFunction;
import java.util.stream.LongStream;

/** A list of indices that takes 4 bytes per index if all of them fit an int, otherwise 8. */
public abstract class IndexList {
  /** The length of the longest list that fits an array. */
  public static final int MAX_SIZE = Integer.MAX_VALUE - 8;

  /** Returns a list backed by {@code indices}, which it may change. */
  public static IndexList of(int[] indices) {
    return new Ints(indices);
  }

  /** Returns a list of zeros. */
  public static IndexList ofLength(Object plan, long length, long largest) {
    return largest <= Integer.MAX_VALUE
        ? new Ints(ints(plan, length))
        : new Longs(allocate(plan, length, Long.BYTES, long[]::new));
  }

  /** Returns a copy of {@code indices} as a list. */
  public static IndexList copyOf(Object plan, long[] indices) {
    IndexList list = ofLength(plan, indices.length, LongStream.of(indices).max().orElse(0));
    for (int i = 0; i < indices.length; i++) {
      list.set(i, indices[i]);
    }
    return list;
  }

  /**
   * Allocates an array for a plan; a heap that is too small is reported as in {@link HeapMemory}.
   */
  public static int[] ints(Object plan, long length) {
    return allocate(plan, length, Integer.BYTES, int[]::new);
  }

  private static <T> T allocate(Object plan, long length, int bytes, IntFunction<T> array) {
    return HeapMemory.array(() -> "the index list of " + plan, length, bytes, array);
  }

  public abstract int length();

  abstract long get(int i);

  public abstract void set(int i, long index);

  /** Writes the elements {@code start}, {@code start + stride}, … */
  public abstract void read(long start, long stride, long[] into, int from, int count);

  /** Returns the elements at the given positions as a list; may overwrite {@code positions}. */
  public abstract IndexList select(Object plan, int[] positions);

  private static final class Ints extends IndexList {
    private final int[] indices;

    Ints(int[] indices) {
      this.indices = indices;
    }

    @Override
    public int length() {
      return indices.length;
    }

    @Override
    long get(int i) {
      return indices[i];
    }

    @Override
    public void set(int i, long index) {
      indices[i] = (int) index;
    }

    @Override
    public void read(long start, long stride, long[] into, int from, int count) {
      for (int i = 0; i < count; i++) {
        into[from + i] = indices[(int) (start + i * stride)];
      }
    }

    @Override
    public IndexList select(Object plan, int[] positions) {
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
    public int length() {
      return indices.length;
    }

    @Override
    long get(int i) {
      return indices[i];
    }

    @Override
    public void set(int i, long index) {
      indices[i] = index;
    }

    @Override
    public void read(long start, long stride, long[] into, int from, int count) {
      for (int i = 0; i < count; i++) {
        into[from + i] = indices[(int) (start + i * stride)];
      }
    }

    @Override
    public IndexList select(Object plan, int[] positions) {
      IndexList selected = ofLength(plan, positions.length, Long.MAX_VALUE);
      for (int i = 0; i < positions.length; i++) {
        selected.set(i, indices[positions[i]]);
      }
      return selected;
    }
  }
}
