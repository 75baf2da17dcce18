// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Reads of a 100 MB file from disk and from the page cache; the difference is the most that reading
 * ahead could gain. The system already reads ahead of a sequential reader.
 */
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(1)
@Warmup(iterations = 10)
@Measurement(iterations = 15)
@State(Scope.Thread)
public class ColdTextBenchmark {
  private static final int BLOCK_BYTES = 1 << 18;

  /** True if the file is in the page cache. */
  @Param({"true", "false"})
  public boolean cached;

  /** Drops the file from the page cache, or leaves it there. */
  @Setup(Level.Invocation)
  public void drop(LineFile file) throws IOException, InterruptedException {
    if (!cached) {
      PageCache.drop(file.path());
    }
  }

  /** Reads the bytes alone: the limit. */
  @Benchmark
  public long bytes(LineFile file) throws IOException {
    ByteBuffer into = ByteBuffer.allocate(BLOCK_BYTES);
    long sum = 0;
    try (FileChannel channel = FileChannel.open(file.path())) {
      for (int read = channel.read(into); read > 0; read = channel.read(into.clear())) {
        sum += read;
      }
    }
    return sum;
  }

  /** Reads lines with torchfeed. */
  @Benchmark
  public long lines(LineFile file) {
    return file.readLines();
  }

  /** Loads edges with torchfeed. */
  @Benchmark
  public long edges(LineFile file) {
    return file.loadEdges();
  }
}
