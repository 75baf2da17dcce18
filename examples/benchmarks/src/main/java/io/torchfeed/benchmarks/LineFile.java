// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.torchfeed.graph.AllToAll;
import io.torchfeed.graph.EdgeLoader;
import io.torchfeed.text.LineCursor;
import io.torchfeed.text.TextPartition;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** A file of 100 MB: lines {@code a,b,w} of equal length, with ids below 10,000. */
@State(Scope.Thread)
public class LineFile {
  private static final int FILE_BYTES = 100_000_000;
  private static final int BUFFER_BYTES = 1 << 18;

  /** Bytes per line: an edge whose weight has enough digits to fill the line. */
  @Param({"16", "100"})
  public int lineBytes;

  private Path file = Path.of("");
  private TextPartition plan = TextPartition.plan(List.of(), 1);

  /** Writes the file. */
  @Setup(Level.Trial)
  public void write() throws IOException {
    file = Files.createTempFile("lines", ".txt");
    SplittableRandom random = new SplittableRandom(1);
    StringBuilder line = new StringBuilder();
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file), BUFFER_BYTES)) {
      for (int written = 0; written < FILE_BYTES; written += lineBytes) {
        line.setLength(0);
        line.append(random.nextInt(10_000))
            .append(',')
            .append(random.nextInt(10_000))
            .append(",0.");
        while (line.length() < lineBytes - 1) {
          line.append((char) ('0' + random.nextInt(10)));
        }
        out.write(line.append('\n').toString().getBytes(US_ASCII));
      }
    }
    plan = TextPartition.plan(List.of(file.toString()), 1);
  }

  /** Deletes the file. */
  @TearDown(Level.Trial)
  public void delete() throws IOException {
    Files.delete(file);
  }

  /** Returns the path of the file. */
  public Path path() {
    return file;
  }

  /** Returns a plan that assigns the whole file to one rank. */
  public TextPartition plan() {
    return plan;
  }

  /** Reads all lines with torchfeed; returns the sum of their lengths. */
  long readLines() {
    long sum = 0;
    try (LineCursor lines = plan.open(0)) {
      while (lines.next()) {
        sum += lines.length();
      }
    }
    return sum;
  }

  /** Loads all edges with torchfeed; returns their number. */
  long loadEdges() {
    return EdgeLoader.over(plan).build().load(0, AllToAll.alone()).size();
  }
}
