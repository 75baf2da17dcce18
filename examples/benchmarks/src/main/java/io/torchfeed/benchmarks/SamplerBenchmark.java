// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.sampler.Cursor;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.torch.DistributedRandomSampler;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Benchmarks of the order of one million samples, shuffling and reading, in nanoseconds per index.
 *
 * <p>{@code native/bench/sampler_loop.cc} runs the same loops over libtorch's class in C++.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(3)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class SamplerBenchmark {
  private static final int SIZE = 1_000_000;
  private static final int READ = 8192;

  private final DistributedRandomSampler sampler = DistributedRandomSampler.of(SIZE, Part.whole());
  private final long[] indices = new long[READ];
  private final long[] list = new long[SIZE];
  private Cursor cursor;
  private long epoch;

  /** Opens the cursor to read. */
  @Setup
  public void open() {
    cursor = sampler.epoch(0);
  }

  /** Closes the cursor. */
  @TearDown
  public void close() {
    cursor.close();
  }

  /** Reads all indices of an epoch, 8192 at a time. */
  @Benchmark
  @OperationsPerInvocation(SIZE)
  public long nativeRead() {
    cursor.seek(0);
    long sum = 0;
    for (int read = cursor.next(indices, 0, READ); read > 0; read = cursor.next(indices, 0, READ)) {
      sum += indices[read - 1];
    }
    return sum;
  }

  /** Reads the same number of indices from an array. */
  @Benchmark
  @OperationsPerInvocation(SIZE)
  public long plainJavaRead() {
    long sum = 0;
    for (int position = 0; position < SIZE; position += READ) {
      int read = Math.min(READ, SIZE - position);
      System.arraycopy(list, position, indices, 0, read);
      sum += indices[read - 1];
    }
    return sum;
  }

  /** Opens an epoch: libtorch's shuffle and the overhead of torchfeed. */
  @Benchmark
  @OperationsPerInvocation(SIZE)
  public long nativeShuffle() {
    try (Cursor shuffled = sampler.epoch(++epoch)) {
      return shuffled.next(indices, 0, 1);
    }
  }

  /** Shuffles as plain Java code commonly does. */
  @Benchmark
  @OperationsPerInvocation(SIZE)
  public long plainJavaShuffle() {
    Random random = new Random(++epoch);
    for (int i = 0; i < SIZE; i++) {
      list[i] = i;
    }
    for (int i = SIZE - 1; i > 0; i--) {
      int j = random.nextInt(i + 1);
      long other = list[j];
      list[j] = list[i];
      list[i] = other;
    }
    return list[0];
  }
}
