// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * A loader as commonly written in plain Java: an array for each sample, {@link java.util.Random} to
 * shuffle, new arrays for each batch, an executor that prefetches batches, and {@code from_blob}.
 */
final class PlainJava implements Contestant {
  private final Row row;
  private final Object[] samples; // byte[] or float[]
  private final long[] labels;
  private final int ahead;
  private final ExecutorService executor;

  PlainJava(RowData data, int workers) throws IOException {
    row = data.row();
    labels = data.labels();
    samples = data.samples();
    ahead = 2 * workers;
    executor = Executors.newFixedThreadPool(Math.max(1, workers));
  }

  /** The arrays of a batch. */
  private static final class Arrays {
    final Object data;
    final long[] labels;

    Arrays(Object data, long[] labels) {
      this.data = data;
      this.labels = labels;
    }
  }

  @Override
  public long epoch(long number, BatchSink sink) throws Exception {
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < row.rows(); i++) {
      order.add(i);
    }
    Collections.shuffle(order, new Random(TorchfeedLoading.SEED + number));
    Deque<Future<Arrays>> made = new ArrayDeque<>();
    long rows = 0;
    for (int from = 0; from < row.rows(); from += row.batch()) {
      List<Integer> indices = order.subList(from, Math.min(from + row.batch(), row.rows()));
      Callable<Arrays> task = () -> row == Row.C ? normalized(indices) : copied(indices);
      if (ahead == 0) {
        rows += take(task.call(), sink);
        continue;
      }
      made.add(executor.submit(task));
      if (made.size() > ahead) {
        rows += take(made.remove().get(), sink);
      }
    }
    while (!made.isEmpty()) {
      rows += take(made.remove().get(), sink);
    }
    return rows;
  }

  private Arrays copied(List<Integer> indices) {
    int elements = indices.size() * row.width();
    Object data = row == Row.A ? new float[elements] : new byte[elements];
    for (int i = 0; i < indices.size(); i++) {
      System.arraycopy(samples[indices.get(i)], 0, data, i * row.width(), row.width());
    }
    return new Arrays(data, labelsOf(indices));
  }

  private Arrays normalized(List<Integer> indices) {
    float[] data = new float[indices.size() * row.width()];
    int at = 0;
    for (int index : indices) {
      for (byte pixel : (byte[]) samples[index]) {
        data[at++] = ((pixel & 0xFF) / 255f - Row.MEAN) / Row.DEVIATION;
      }
    }
    return new Arrays(data, labelsOf(indices));
  }

  private long[] labelsOf(List<Integer> indices) {
    return indices.stream().mapToLong(index -> labels[index]).toArray();
  }

  private int take(Arrays arrays, BatchSink sink) {
    int size = arrays.labels.length;
    ScalarType type = row == Row.B ? ScalarType.Byte : ScalarType.Float;
    try (Pointer memory = memory(arrays.data);
        LongPointer classes = new LongPointer(arrays.labels);
        Tensor data = torch.from_blob(memory, row.shape(size), new TensorOptions(type));
        Tensor targets =
            torch.from_blob(classes, new long[] {size}, new TensorOptions(ScalarType.Long))) {
      sink.take(data, targets);
    }
    return size;
  }

  private static Pointer memory(Object array) {
    return array instanceof float[] floats
        ? new FloatPointer(floats)
        : new BytePointer((byte[]) array);
  }

  @Override
  public void close() {
    executor.shutdownNow();
  }
}
