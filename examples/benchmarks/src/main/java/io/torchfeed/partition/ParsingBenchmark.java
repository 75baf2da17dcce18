// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static java.util.Objects.requireNonNull;

import io.torchfeed.benchmarks.LineFile;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Edges that are parsed and forgotten: milliseconds for 100 MB, so that 500 is 200 MB/s. What
 * {@code TextBenchmark.edges} takes beyond it goes into numbering the ids and keeping the edges.
 * The parsers are the package's own, so this stands in it.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(3)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@State(Scope.Thread)
public class ParsingBenchmark {
  private final EdgeRules rules =
      new EdgeRules(
          LinePattern.FMAP,
          false,
          IdKind.NUMBER,
          IdHash.FNV_MIX,
          LineParser.separatedBy(","),
          new ByteSet("valueSeparators", ":| "),
          ErrorPolicy.FAIL,
          LineOptions.DEFAULT,
          1);

  /** Reads the lines and takes them apart, as a load does. */
  @Benchmark
  public double parse(LineFile file) {
    PlainEdge plain = requireNonNull(PlainEdge.of(rules));
    EdgeParser parser = new EdgeParser(rules);
    long ids = 0;
    double weights = 0;
    try (LineCursor lines = file.plan().open(0)) {
      while (lines.next()) {
        byte[] bytes = lines.bytes();
        int start = lines.start();
        int end = lines.end();
        if (plain.parse(bytes, start, end)) {
          ids += plain.first() ^ plain.second();
          weights += plain.weight();
        } else {
          parser.parse(bytes, start, end);
          ids += parser.firstHash() ^ parser.secondHash(0);
          weights += parser.weight(0);
        }
      }
    }
    return ids + weights;
  }
}
