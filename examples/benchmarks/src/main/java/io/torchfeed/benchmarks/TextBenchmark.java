// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Benchmarks of reading the lines of a 100 MB file from the page cache, side by side: milliseconds
 * per pass, so 100 ms is 1 GB/s. All of them add up the lengths of the lines.
 *
 * <p>{@code rawScan} is the limit: it reads the same blocks and finds each newline, eight bytes at
 * a time, ignoring lines that cross blocks. {@code edges} also parses {@code a,b,w} and keeps the
 * edges in memory with numbered ids; the weights in its lines of 100 bytes have more digits than a
 * double, which takes the slow path.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(3)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
public class TextBenchmark {
  private static final int BLOCK_BYTES = 1 << 18;
  private static final VarHandle WORD =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  /** Reads lines with torchfeed. */
  @Benchmark
  public long cursor(LineFile file) {
    return file.readLines();
  }

  /** Scans for newlines, eight bytes at a time: the limit. */
  @Benchmark
  public long rawScan(LineFile file) throws IOException {
    byte[] block = new byte[BLOCK_BYTES];
    ByteBuffer into = ByteBuffer.wrap(block);
    long sum = 0;
    try (FileChannel channel = FileChannel.open(file.path())) {
      for (int read = channel.read(into); read > 0; read = channel.read(into.clear())) {
        sum += lengths(block, read);
      }
    }
    return sum;
  }

  private static long lengths(byte[] block, int bytes) {
    long sum = 0;
    int start = 0;
    for (int at = 0; at <= bytes - Long.BYTES; at += Long.BYTES) {
      long word = (long) WORD.get(block, at) ^ 0x0a0a0a0a0a0a0a0aL;
      long low = 0x7f7f7f7f7f7f7f7fL;
      for (long marks = ~(((word & low) + low) | word | low); marks != 0; marks &= marks - 1) {
        int end = at + (Long.numberOfTrailingZeros(marks) >>> 3);
        sum += end - start;
        start = end + 1;
      }
    }
    return sum;
  }

  /** Scans for newlines one byte at a time. */
  @Benchmark
  public long rawScanByBytes(LineFile file) throws IOException {
    byte[] block = new byte[BLOCK_BYTES];
    ByteBuffer into = ByteBuffer.wrap(block);
    long sum = 0;
    try (FileChannel channel = FileChannel.open(file.path())) {
      for (int read = channel.read(into); read > 0; read = channel.read(into.clear())) {
        int start = 0;
        for (int at = 0; at < read; at++) {
          if (block[at] == '\n') {
            sum += at - start;
            start = at + 1;
          }
        }
      }
    }
    return sum;
  }

  /** Reads lines one by one with the JDK. */
  @Benchmark
  public long bufferedReader(LineFile file) throws IOException {
    long sum = 0;
    try (BufferedReader reader = Files.newBufferedReader(file.path())) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        sum += line.length();
      }
    }
    return sum;
  }

  /** Reads lines as a stream of the JDK. */
  @Benchmark
  public long filesLines(LineFile file) throws IOException {
    try (Stream<String> lines = Files.lines(file.path())) {
      return lines.mapToLong(String::length).sum();
    }
  }

  /** Loads edges with torchfeed. */
  @Benchmark
  public long edges(LineFile file) {
    return file.loadEdges();
  }
}
