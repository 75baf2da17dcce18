// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.data.Batch;
import io.torchfeed.data.Batches;
import io.torchfeed.data.DataLoader;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.DistributedRandomSampler;
import java.nio.FloatBuffer;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
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

/** An epoch of 60,000 rows of 784 floats and a label, batch 256: rows a millisecond. */
@State(Scope.Thread)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(2)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 2)
public class LoaderBenchmark {
  private static final int ROWS = 60_000;
  private static final int WIDTH = 784;
  private static final int BATCH = 256;

  /** Worker threads of the native loader; the plain path has none. */
  @Param({"0", "1", "2"})
  public int workers;

  private final DistributedRandomSampler sampler = new DistributedRandomSampler(ROWS, 1, 0);
  private final long[] order = new long[BATCH];
  private final float[] row = new float[WIDTH];
  private TensorDataset data;
  private DataLoader loader;
  private FloatBuffer source;
  private FloatBuffer target;
  private FloatPointer targetMemory;
  private Tensor images;
  private long epoch;

  /** Makes the rows. */
  @Setup
  public void open() {
    images = torch.rand(ROWS, WIDTH);
    data = TensorDataset.of(images, torch.arange(new Scalar(ROWS)));
    loader = DataLoader.over(data).sampler(sampler).batchSize(BATCH).workers(workers).build();
    source = images.data_ptr_float().capacity((long) ROWS * WIDTH).asBuffer();
    targetMemory = new FloatPointer((long) BATCH * WIDTH);
    target = targetMemory.asBuffer();
  }

  /** Frees them. */
  @TearDown
  public void close() {
    loader.close();
    data.close();
    targetMemory.close();
  }

  /** torchfeed's loader. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long nativeLoader() {
    long rows = 0;
    try (Batches batches = loader.epoch(++epoch)) {
      for (Batch batch : batches) {
        rows += batch.tensor(0).size(0);
      }
    }
    return rows;
  }

  /** One thread that copies the same random rows into one reused buffer: the limit of memory. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public float copyLimit() {
    float sum = 0;
    try (Cursor cursor = sampler.epoch(++epoch)) {
      for (int read = cursor.next(order, 0, BATCH); read > 0; read = cursor.next(order, 0, BATCH)) {
        for (int i = 0; i < read; i++) {
          target.put(i * WIDTH, source, (int) order[i] * WIDTH, WIDTH);
        }
        sum += target.get(0);
      }
    }
    return sum;
  }

  /** As people write it today: rows through a heap array, a new tensor for each batch. */
  @Benchmark
  @OperationsPerInvocation(ROWS)
  public long plainJavaLoader() {
    long rows = 0;
    try (Cursor cursor = sampler.epoch(++epoch)) {
      for (int read = cursor.next(order, 0, BATCH); read > 0; read = cursor.next(order, 0, BATCH)) {
        float[] heap = new float[read * WIDTH];
        for (int i = 0; i < read; i++) {
          source.get((int) order[i] * WIDTH, row);
          System.arraycopy(row, 0, heap, i * WIDTH, WIDTH);
        }
        try (Tensor batch = Tensor.create(heap, read, WIDTH)) {
          rows += batch.size(0);
        }
      }
    }
    return rows;
  }
}
