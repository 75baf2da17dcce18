// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;

/** The rows of {@link Rows#dataset} for one of the two engines. */
public abstract class RowData implements AutoCloseable {
  protected RowData() {}

  /** Returns rows in tensors, for the native engine. */
  public static RowData tensors(int size) {
    return over(Rows.dataset(size));
  }

  /** Returns the same rows as a concatenation of subsets, for the native engine. */
  public static RowData selection(int size) {
    return over(selected(size));
  }

  /** Returns rows in tensors with a transform that changes nothing, for the Java engine. */
  public static RowData transformed(int size) {
    RowData tensors = tensors(size);
    return new RowData() {
      @Override
      public DataLoaderBuilder over() {
        return tensors.over().transform((all, random) -> all);
      }

      @Override
      public void close() {
        tensors.close();
      }
    };
  }

  private static NativeDataset selected(int size) {
    long[] back = LongStream.iterate(size - 1L, i -> i - 1).limit(size).toArray();
    int half = size / 2;
    try (NativeDataset rows = Rows.dataset(size);
        NativeDataset reversed = rows.subset(back);
        NativeDataset first = reversed.subset(Arrays.copyOfRange(back, 0, half));
        NativeDataset last = rows.subset(LongStream.range(half, size).toArray())) {
      return NativeDataset.concat(List.of(first, last));
    }
  }

  private static RowData over(NativeDataset dataset) {
    return new RowData() {
      @Override
      public DataLoaderBuilder over() {
        return DataLoader.over(dataset);
      }

      @Override
      public void close() {
        dataset.close();
      }
    };
  }

  /** Returns rows from Java code, for the Java engine. */
  public static RowData samples(int size) {
    return new RowData() {
      @Override
      public DataLoaderBuilder over() {
        return DataLoader.over(new Samples(size));
      }

      @Override
      public void close() {}
    };
  }

  /** Returns the rows of {@code other} on a device; takes ownership. */
  public static RowData on(String device, RowData other) {
    return new RowData() {
      @Override
      public DataLoaderBuilder over() {
        return other.over().device(device);
      }

      @Override
      public void close() {
        other.close();
      }
    };
  }

  /** Returns a loader builder over the rows. */
  public abstract DataLoaderBuilder over();

  @Override
  public abstract void close();

  /** The rows, computed by Java code. */
  public record Samples(long size) implements Dataset {
    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.FLOAT32, Rows.WIDTH), RowSpec.of(DType.INT64));
    }

    @Override
    public void read(long index, SampleWriter sample) {
      for (int i = 0; i < Rows.WIDTH; i++) {
        sample.putFloat(0, (float) (index * Rows.WIDTH + i));
      }
      sample.putLong(1, index);
    }
  }
}
