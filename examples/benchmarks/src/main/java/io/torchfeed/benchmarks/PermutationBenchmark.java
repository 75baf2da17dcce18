// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import io.torchfeed.sampler.order.SeekablePermutation;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
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
 * Benchmarks of shuffled orders side by side: {@code open} opens an epoch and reads its first
 * index, {@code read} reads 8192 indices of an open epoch, in nanoseconds per index.
 *
 * <p>Only the computed order is opened for a billion samples; a list of them takes 8 GB.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(3)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class PermutationBenchmark {
  private static final int READ = 8192;

  /** An order that is opened repeatedly. */
  @State(Scope.Thread)
  public static class Opened {
    /** The kind of order and its number of samples. */
    @Param({
      "ShuffledSampler 1000000",
      "ShuffledSampler 10000000",
      "ShuffledSampler 1000000000",
      "plainJava 1000000",
      "plainJava 10000000",
      "RandomSampler 1000000",
      "RandomSampler 10000000",
      "DistributedRandomSampler 1000000",
      "DistributedRandomSampler 10000000",
      "presetsRandom 1000000",
      "presetsRandom 10000000",
      "presetsDistributed 1000000",
      "presetsDistributed 10000000",
    })
    public String order = "";

    private final long[] indices = new long[READ];
    private int size;
    private ShuffledOrder opened = ShuffledOrder.of("plainJava", 0);
    private long epoch;
    private int left;

    /** Opens the first epoch. */
    @Setup
    public void start() {
      String[] words = order.split(" ", 2);
      size = Integer.parseInt(words[1]);
      opened = ShuffledOrder.of(words[0], size);
      open();
    }

    /** Opens a new epoch when the last one is exhausted; not measured. */
    @Setup(Level.Invocation)
    public void rewind() {
      if (left < READ) {
        open();
      }
    }

    /** Frees the order. */
    @TearDown
    public void close() {
      opened.close();
    }

    private void open() {
      opened.open(++epoch);
      left = size;
    }
  }

  /** A permutation of {@link #size} numbers. */
  @State(Scope.Thread)
  public static class Permuted {
    /** The number of values. */
    @Param({"1000000", "10000000", "1000000000", "1000000000000000"})
    public long size;

    private final long[] indices = new long[READ];
    private SeekablePermutation permutation = SeekablePermutation.of(1, 0, 0);
    private long start;

    /** Creates the permutation. */
    @Setup
    public void make() {
      permutation = SeekablePermutation.of(size, 1, 0);
    }

    private long next(int count) {
      start = start + count > size - count ? 0 : start + count;
      return start;
    }
  }

  /** Opens an epoch, including its whole set-up. */
  @Benchmark
  public long open(Opened order) {
    order.open();
    order.opened.read(order.indices, 1);
    return order.indices[0];
  }

  /** Reads the next indices in bulk. */
  @Benchmark
  @OperationsPerInvocation(READ)
  public long read(Opened order) {
    order.opened.read(order.indices, READ);
    order.left -= READ;
    return order.indices[READ - 1];
  }

  /** Computes the permutation in bulk, without a cursor. */
  @Benchmark
  @OperationsPerInvocation(READ)
  public long bulk(Permuted numbers) {
    numbers.permutation.at(numbers.next(READ), 1, numbers.indices, 0, READ);
    return numbers.indices[READ - 1];
  }

  /** Computes one value at a time. */
  @Benchmark
  public long one(Permuted numbers) {
    return numbers.permutation.at(numbers.next(1));
  }

  /** Computes the index of one value at a time. */
  @Benchmark
  public long indexOf(Permuted numbers) {
    return numbers.permutation.indexOf(numbers.next(1));
  }
}
