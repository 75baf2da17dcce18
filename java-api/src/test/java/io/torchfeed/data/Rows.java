// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.sampler.BatchCursor;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.Sampler;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;

/** A dataset whose rows contain their row number, and plans over it, for tests. */
public final class Rows {
  public static final int WIDTH = 3;

  private Rows() {}

  /** Column 0: float32 [size, 3], row i is 3i, 3i+1, 3i+2. Column 1: int64 [size], row i is i. */
  public static TensorDataset dataset(int size) {
    float[] values = new float[size * WIDTH];
    long[] labels = new long[size];
    for (int i = 0; i < values.length; i++) {
      values[i] = i;
    }
    for (int i = 0; i < size; i++) {
      labels[i] = i;
    }
    return TensorDataset.of(Tensor.create(values, size, WIDTH), Tensor.create(labels, size));
  }

  public static void assertHolds(Batch batch, long... indices) {
    assertThat(batch.indices()).isEqualTo(indices);
    assertThat(batch.size()).isEqualTo(indices.length);
    assertThat(batch.tensor(0).sizes().vec().get()).containsExactly(indices.length, WIDTH);
    assertThat(batch.tensor(1).sizes().vec().get()).containsExactly(indices.length);
    float[] values = new float[indices.length * WIDTH];
    try (Tensor here = batch.tensor(0).cpu()) {
      here.data_ptr_float().get(values);
    }
    long[] labels = longs(batch.tensor(1));
    for (int row = 0; row < indices.length; row++) {
      assertThat(labels[row]).isEqualTo(indices[row]);
      for (int i = 0; i < WIDTH; i++) {
        assertThat(values[row * WIDTH + i]).isEqualTo((float) (indices[row] * WIDTH + i));
      }
    }
  }

  public static long[] longs(Tensor tensor) {
    long[] values = new long[(int) tensor.numel()];
    try (Tensor here = tensor.cpu()) {
      here.data_ptr_long().get(values);
    }
    return values;
  }

  /** Returns a plan whose cursor advances and then fails once, at call {@code failing}. */
  public static Sampler failingOnce(int failing, long... indices) {
    return plan(
        indices.length,
        new ArrayCursor(indices) {
          private int calls;

          @Override
          public int next(long[] into, int from, int count) {
            int delivered = super.next(into, from, count);
            if (++calls == failing) {
              throw new IllegalArgumentException("once");
            }
            return delivered;
          }
        });
  }

  /** Returns a plan whose cursor advances and then fails, from call {@code failing} on. */
  public static Sampler failingFrom(int failing, long... indices) {
    return plan(
        indices.length,
        new ArrayCursor(indices) {
          private int calls;

          @Override
          public int next(long[] into, int from, int count) {
            int delivered = super.next(into, from, count);
            if (++calls >= failing) {
              throw new IllegalArgumentException("for good");
            }
            return delivered;
          }
        });
  }

  /** Returns a plan of one batch, which is larger than promised or has an impossible size. */
  public static BatchSampler lying(int promised, int size) {
    return new BatchSampler() {
      @Override
      public long batches(long epoch) {
        return 1;
      }

      @Override
      public int maxBatchSize() {
        return promised;
      }

      @Override
      public BatchCursor epoch(long epoch) {
        return new ArrayBatchCursor(new long[][] {new long[Math.max(0, size)]}) {
          @Override
          public int next(long[] into, int from) {
            return size < 0 ? size : super.next(into, from);
          }
        };
      }

      @Override
      public PlanParameters parameters() {
        return PlanParameters.of("test");
      }
    };
  }

  /** Returns a plan that delivers only the given indices, whatever number it promises. */
  public static Sampler plan(long promised, long... indices) {
    return plan(promised, new ArrayCursor(indices));
  }

  /** Returns a plan of the given batches, the same in every epoch. */
  public static BatchSampler batches(long[]... batches) {
    return new BatchSampler() {
      @Override
      public long batches(long epoch) {
        return batches.length;
      }

      @Override
      public int maxBatchSize() {
        return Stream.of(batches).mapToInt(batch -> batch.length).max().orElse(1);
      }

      @Override
      public BatchCursor epoch(long epoch) {
        return new ArrayBatchCursor(batches);
      }

      @Override
      public PlanParameters parameters() {
        return PlanParameters.of("test");
      }
    };
  }

  private static Sampler plan(long promised, Cursor cursor) {
    return new Sampler() {
      @Override
      public long size() {
        return promised;
      }

      @Override
      public Cursor epoch(long epoch) {
        return cursor;
      }

      @Override
      public PlanParameters parameters() {
        return PlanParameters.of("test");
      }
    };
  }

  private static class ArrayBatchCursor implements BatchCursor {
    private final long[][] batches;
    private int position;

    ArrayBatchCursor(long[][] batches) {
      this.batches = batches;
    }

    @Override
    public int next(long[] into, int from) {
      if (position == batches.length) {
        return 0;
      }
      long[] batch = batches[position++];
      System.arraycopy(batch, 0, into, from, batch.length);
      return batch.length;
    }

    @Override
    public long position() {
      return position;
    }

    @Override
    public void seek(long position) {
      this.position = (int) position;
    }

    @Override
    public long remaining() {
      return (long) batches.length - position;
    }

    @Override
    public boolean isPadding(long batch, int element) {
      return false;
    }

    @Override
    public void close() {}
  }

  private static class ArrayCursor implements Cursor {
    private final long[] indices;
    private int position;

    ArrayCursor(long... indices) {
      this.indices = indices;
    }

    @Override
    public int next(long[] into, int from, int count) {
      int length = Math.min(count, indices.length - position);
      System.arraycopy(indices, position, into, from, length);
      position += length;
      return length;
    }

    @Override
    public long position() {
      return position;
    }

    @Override
    public void seek(long position) {
      this.position = (int) position;
    }

    @Override
    public long remaining() {
      return (long) indices.length - position;
    }

    @Override
    public boolean isPadding(long position) {
      return false;
    }

    @Override
    public void close() {}
  }
}
