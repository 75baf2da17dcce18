// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import java.util.ArrayList;
import java.util.List;

/** A list of edges in the order of arrival, 16 bytes each, which grows without copying. */
final class EdgeChunks {
  private static final int MIN_SIZE = 1 << 8;
  private static final int MAX_SIZE = 1 << 16;

  private final List<Chunk> full = new ArrayList<>();
  private Chunk last = new Chunk(MIN_SIZE);
  private long size;

  private static final class Chunk {
    final int[] firsts;
    final int[] seconds;
    final double[] weights;
    int count;

    Chunk(int capacity) {
      firsts = new int[capacity];
      seconds = new int[capacity];
      weights = new double[capacity];
    }

    void forEach(Edges.EdgeVisitor visitor) {
      for (int i = 0; i < count; i++) {
        visitor.edge(firsts[i], seconds[i], weights[i]);
      }
    }
  }

  void add(int first, int second, double weight) {
    Chunk chunk = last;
    if (chunk.count == chunk.firsts.length) {
      full.add(chunk);
      chunk = new Chunk(Math.min(MAX_SIZE, 2 * chunk.count));
      last = chunk;
    }
    chunk.firsts[chunk.count] = first;
    chunk.seconds[chunk.count] = second;
    chunk.weights[chunk.count] = weight;
    chunk.count++;
    size++;
  }

  /** Adds {@code count} edges at once. */
  void addAll(int[] firsts, int[] seconds, double[] weights, int count) {
    for (int from = 0, part; from < count; from += part) {
      if (last.count == last.firsts.length) {
        full.add(last);
        last = new Chunk(Math.min(MAX_SIZE, 2 * last.count));
      }
      part = Math.min(count - from, last.firsts.length - last.count);
      System.arraycopy(firsts, from, last.firsts, last.count, part);
      System.arraycopy(seconds, from, last.seconds, last.count, part);
      System.arraycopy(weights, from, last.weights, last.count, part);
      last.count += part;
    }
    size += count;
  }

  long size() {
    return size;
  }

  void forEach(Edges.EdgeVisitor visitor) {
    full.forEach(chunk -> chunk.forEach(visitor));
    last.forEach(visitor);
  }
}
