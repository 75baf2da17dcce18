// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.data.Batch;
import io.torchfeed.data.Batches;
import io.torchfeed.data.DataLoader;
import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.ShuffledSampler;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.bytedeco.pytorch.Tensor;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * An epoch of 60,000 images of 784 bytes, each turned into normalised floats by a callback a
 * sample, with a label, batch 256: samples a millisecond.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class CallbackBenchmark {
  private static final int ROWS = 60_000;
  private static final int WIDTH = 784;
  private static final int BATCH = 256;
  private static final float MEAN = 0.1307f;
  private static final float DEVIATION = 0.3081f;

  /** Worker threads of the loader; the plain path has none. */
  @Param({"0", "1", "2"})
  public int workers;

  private final ShuffledSampler sampler = new ShuffledSampler(ROWS, 1);
  private final float[] normalised = new float[256];
  private final byte[] images = new byte[ROWS * WIDTH];
  private DataLoader loader;
  private long epoch;

  /** A thread's own. */
  private static final class Scratch {
    final byte[] bytes = new byte[WIDTH];
    final float[] floats = new float[WIDTH];
  }

  /** Images in the Java heap. */
  private final class Images implements Dataset {
    private final ThreadLocal<Scratch> scratch = ThreadLocal.withInitial(Scratch::new);

    @Override
    public long size() {
      return ROWS;
    }

    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.FLOAT32, 1, 28, 28), RowSpec.of(DType.INT64));
    }

    @Override
    public void read(long index, SampleWriter sample) {
      Scratch own = scratch.get();
      normalise((int) index, own.bytes, own.floats);
      sample.put(0, own.floats);
      sample.putLong(1, index % 10);
    }
  }

  private void normalise(int index, byte[] image, float[] into) {
    // The row is a miss: copied at once, its lines come side by side instead of one by one.
    System.arraycopy(images, index * WIDTH, image, 0, WIDTH);
    for (int i = 0; i < WIDTH; i++) {
      into[i] = normalised[image[i] & 0xFF];
    }
  }

  /** Makes the images. */
  @Setup
  public void open() {
    new Random(0).nextBytes(images);
    for (int i = 0; i < normalised.length; i++) {
      normalised[i] = (i / 255f - MEAN) / DEVIATION;
    }
    loader =
        DataLoader.over(new Images()).sampler(sampler).batchSize(BATCH).workers(workers).build();
  }

  /** Ends the threads. */
  @TearDown
  public void close() {
    loader.close();
  }

  /** torchfeed's loader. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long javaEngine() {
    long rows = 0;
    try (Batches batches = loader.epoch(++epoch)) {
      for (Batch batch : batches) {
        rows += batch.size();
      }
    }
    return rows;
  }

  /** As people write it today: a heap array for each sample and batch, and a copy into a tensor. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long plainJava() {
    long rows = 0;
    long[] order = new long[BATCH];
    try (Cursor cursor = sampler.epoch(++epoch)) {
      for (int read = cursor.next(order, 0, BATCH); read > 0; read = cursor.next(order, 0, BATCH)) {
        float[] batch = new float[read * WIDTH];
        long[] labels = new long[read];
        for (int row = 0; row < read; row++) {
          float[] image = new float[WIDTH];
          normalise((int) order[row], new byte[WIDTH], image);
          System.arraycopy(image, 0, batch, row * WIDTH, WIDTH);
          labels[row] = order[row] % 10;
        }
        try (Tensor floats = Tensor.create(batch, read, 1, 28, 28);
            Tensor longs = Tensor.create(labels, read)) {
          rows += floats.size(0) + longs.size(0) - read;
        }
      }
    }
    return rows;
  }

  /** One thread that does the callback's work into one reused array: what the code itself takes. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public float callbackAlone() {
    float sum = 0;
    Scratch own = new Scratch();
    long[] order = new long[BATCH];
    try (Cursor cursor = sampler.epoch(++epoch)) {
      for (int read = cursor.next(order, 0, BATCH); read > 0; read = cursor.next(order, 0, BATCH)) {
        for (int row = 0; row < read; row++) {
          normalise((int) order[row], own.bytes, own.floats);
          sum += own.floats[row];
        }
      }
    }
    return sum;
  }
}
