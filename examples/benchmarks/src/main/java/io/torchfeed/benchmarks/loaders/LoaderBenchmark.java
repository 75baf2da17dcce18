// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A benchmark of the contestants of this JVM one at a time, in milliseconds per epoch of 60,000
 * rows, for profilers. Only a comparison in turns shows which is faster; see {@link Contest}.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(1)
@Warmup(iterations = 20)
@Measurement(iterations = 20)
public class LoaderBenchmark {
  private static final String CACHE = System.getProperty("user.home") + "/.cache/torchfeed/mnist";

  /** The row and the contestant. */
  @Param({"A native", "A java", "A plain", "A presets", "C java", "C plain", "C presets"})
  public String contestant = "";

  /** The number of worker threads. */
  @Param({"0", "1", "2"})
  public int workers;

  /** The folder of MNIST; empty for the user's cache. */
  @Param("")
  public String mnist = "";

  private @Nullable Contestant opened;
  private long epoch;

  /**
   * Reads the rows.
   *
   * @throws IOException if MNIST is missing
   */
  @Setup
  public void open() throws IOException {
    String[] words = contestant.split(" ", 2);
    Path folder = Path.of(mnist.isEmpty() ? CACHE : mnist);
    opened = ContestantProgram.open(words[1], new RowData(Row.valueOf(words[0]), folder), workers);
  }

  /**
   * Stops the threads.
   *
   * @throws IOException if a file cannot be closed
   */
  @TearDown
  public void close() throws IOException {
    Objects.requireNonNull(opened).close();
  }

  /**
   * Loads a whole epoch.
   *
   * @return the number of its rows
   * @throws Exception if loading fails
   */
  @Benchmark
  public long wholeEpoch() throws Exception {
    return Objects.requireNonNull(opened).epoch(++epoch, BatchSink.none());
  }
}
