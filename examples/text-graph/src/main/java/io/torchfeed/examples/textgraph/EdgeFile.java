// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.textgraph;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.OutputFile;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.LongConsumer;
import java.util.stream.LongStream;

/**
 * A file of edges {@code a,b} whose degrees follow a power law: a function of the seed and the edge
 * number alone, so any number of threads generate the same file.
 *
 * <p>There are n vertices, a tenth of the number of edges. Both ends are drawn with probability
 * proportional to k<sup>-0.75</sup>, k = 1 … n; k is then mapped to another id so that neighbouring
 * ids have different degrees.
 */
final class EdgeFile {
  private static final long EDGES_AT_ONCE = 1 << 15;
  private static final long GAMMA = 0x9E3779B97F4A7C15L;

  /** A prime, so that its multiples modulo a smaller n are a permutation. */
  private static final long STRIDE = 2_654_435_761L;

  private static final double EXPONENT = 1 - 0.75;

  private final long edges;
  private final long seed;
  private final long vertices;

  EdgeFile(long edges, long seed) {
    this.edges = edges;
    this.seed = seed;
    vertices = Math.max(2, edges / 10);
  }

  /** Returns the file in a folder, created if missing; {@code written} receives the edges done. */
  Path in(Path folder, LongConsumer written) {
    Path file = folder.resolve("edges-%d-%d.csv".formatted(edges, seed));
    if (Files.isRegularFile(file)) {
      return file;
    }
    try {
      Files.createDirectories(folder);
      // If two processes create it at the same time, the last wins, with the same content.
      OutputFile.write(
          file,
          partial -> {
            try (OutputStream out = Files.newOutputStream(partial)) {
              write(out, written);
            }
          });
      return file;
    } catch (IOException e) {
      throw new CommandException("cannot write the edges to " + file + ": " + e.getMessage(), e);
    }
  }

  void write(OutputStream out, LongConsumer written) throws IOException {
    int threads = Runtime.getRuntime().availableProcessors();
    for (long from = 0; from < edges; from += threads * EDGES_AT_ONCE) {
      long start = from;
      List<byte[]> parts =
          LongStream.range(0, threads)
              .parallel()
              .mapToObj(part -> lines(start + part * EDGES_AT_ONCE))
              .toList();
      for (byte[] part : parts) {
        out.write(part);
      }
      written.accept(Math.min(edges, from + threads * EDGES_AT_ONCE));
    }
  }

  private byte[] lines(long from) {
    StringBuilder lines = new StringBuilder();
    for (long edge = from; edge < Math.min(edges, from + EDGES_AT_ONCE); edge++) {
      lines.append(vertex(2 * edge)).append(',').append(vertex(2 * edge + 1)).append('\n');
    }
    return lines.toString().getBytes(US_ASCII);
  }

  /** Draws a vertex by inversion of the continuous distribution. */
  private long vertex(long draw) {
    double uniform = (mix(seed + mix(draw * GAMMA)) >>> 11) * 0x1p-53;
    double most = StrictMath.pow((double) vertices, EXPONENT);
    double k = StrictMath.pow(1 + uniform * (most - 1), 1 / EXPONENT) - 1;
    return Math.min(vertices - 1, (long) k) * (STRIDE % vertices) % vertices;
  }

  /** The finaliser of SplitMix64. */
  private static long mix(long z) {
    long mixed = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
    mixed = (mixed ^ mixed >>> 27) * 0x94D049BB133111EBL;
    return mixed ^ mixed >>> 31;
  }
}
