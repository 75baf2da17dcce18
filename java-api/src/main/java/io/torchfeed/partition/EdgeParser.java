// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.util.Arrays;

/** The edges of one line: all of them, or none if the line breaks a rule. */
final class EdgeParser {
  private final EdgeRules rules;
  private final Fields fields = new Fields();
  private double[] weights = new double[8];

  /** Where the second id of each edge begins and ends. */
  private int[] seconds = new int[16];

  private long firstHash;
  private long[] secondHashes = new long[8];
  private int edges;

  EdgeParser(EdgeRules rules) {
    this.rules = rules;
  }

  /**
   * Splits a line; returns how many edges it has.
   *
   * @throws MalformedLineException if the line breaks a rule
   */
  int parse(byte[] line, int start, int end) {
    fields.clear();
    edges = 0;
    rules.parser().parse(line, start, end, fields);
    int count = fields.count();
    if (count == 2) {
      addLink(line, 1);
    } else if (rules.mixed()) {
      for (int field = 1; field < count; field++) {
        addLink(line, field);
      }
    } else if (count == 3) {
      add(fields.start(1), fields.end(1), weight(line, fields.start(2), fields.end(2)));
    } else {
      throw new MalformedLineException("a line must have 2 or 3 fields, got " + count);
    }
    if (edges > 0) {
      hashIds(line);
    }
    return edges;
  }

  /** Looks at all ids, so that a line with a wrong one has no edge. */
  private void hashIds(byte[] line) {
    firstHash = hash(line, firstStart(), firstEnd());
    for (int edge = 0; edge < edges; edge++) {
      secondHashes[edge] = hash(line, secondStart(edge), secondEnd(edge));
    }
  }

  /** A number is its own hash. */
  private long hash(byte[] line, int start, int end) {
    if (rules.ids() == IdKind.NUMBER) {
      return Numbers.id(line, start, end);
    }
    Utf8.require(line, start, end);
    return rules.hash().of(line, start, end);
  }

  /** {@code b} or {@code b:w}. */
  private void addLink(byte[] line, int field) {
    int start = fields.start(field);
    int end = fields.end(field);
    int cut = separator(line, start, end);
    if (cut == end) {
      add(start, end, 1);
    } else {
      add(start, cut, weight(line, cut + 1, separator(line, cut + 1, end)));
    }
  }

  private int separator(byte[] line, int from, int end) {
    int at = from;
    while (at < end && !rules.valueSeparators().contains(line[at])) {
      at++;
    }
    return at;
  }

  private static double weight(byte[] line, int start, int end) {
    return Numbers.weight(line, start, end);
  }

  private void add(int start, int end, double weight) {
    if (edges == weights.length) {
      weights = Arrays.copyOf(weights, 2 * edges);
      secondHashes = Arrays.copyOf(secondHashes, 2 * edges);
      seconds = Arrays.copyOf(seconds, 4 * edges);
    }
    seconds[2 * edges] = start;
    seconds[2 * edges + 1] = end;
    weights[edges] = weight;
    edges++;
  }

  long firstHash() {
    return firstHash;
  }

  long secondHash(int edge) {
    return secondHashes[edge];
  }

  int firstStart() {
    return fields.start(0);
  }

  int firstEnd() {
    return fields.end(0);
  }

  int secondStart(int edge) {
    return seconds[2 * edge];
  }

  int secondEnd(int edge) {
    return seconds[2 * edge + 1];
  }

  double weight(int edge) {
    return weights[edge];
  }
}
