// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import java.util.Arrays;

/** A parser for the edges of one line: all of them, or none if the line is malformed. */
final class EdgeParser {
  private final EdgeRules rules;
  private final LineParser.Fields fields = new LineParser.Fields();
  private double[] weights = new double[8];

  /** The start and end of the second id of each edge. */
  private int[] seconds = new int[16];

  private long firstHash;
  private long[] secondHashes = new long[8];
  private int edges;

  EdgeParser(EdgeRules rules) {
    this.rules = rules;
  }

  /**
   * Splits a line; returns the number of its edges, none if it is blank or a comment.
   *
   * @throws LineParser.MalformedLineException if the line is malformed
   */
  int parse(byte[] line, int start, int end) {
    fields.begin(start, end);
    edges = 0;
    int first = start;
    while (first < end && ByteSet.isBlank(line[first])) {
      first++;
    }
    if (first == end || rules.comments().contains(line[first])) {
      return 0;
    }
    rules.parser().parse(line, start, end, fields);
    int count = fields.count();
    if (rules.fields() != 0 && count != rules.fields()) {
      throw new LineParser.MalformedLineException(
          "a line must have %d fields, got %d".formatted(rules.fields(), count));
    }
    if (count == 2) {
      addLink(line, 1);
    } else if (rules.mixed()) {
      for (int field = 1; field < count; field++) {
        addLink(line, field);
      }
    } else if (count == 3) {
      add(fields.start(1), fields.end(1), weight(line, fields.start(2), fields.end(2)));
    } else {
      throw new LineParser.MalformedLineException("a line must have 2 or 3 fields, got " + count);
    }
    if (edges > 0) {
      hashIds(line);
    }
    return edges;
  }

  /** Hashes all ids first, so that a line with an invalid id has no edge. */
  private void hashIds(byte[] line) {
    firstHash = hash(line, firstStart(), firstEnd());
    for (int edge = 0; edge < edges; edge++) {
      secondHashes[edge] = hash(line, secondStart(edge), secondEnd(edge));
    }
  }

  /** Returns the hash of an id; a number is its own hash. */
  private long hash(byte[] line, int start, int end) {
    if (rules.ids() == IdMap.Kind.NUMBER) {
      return Numbers.id(line, start, end);
    }
    requireText(line, start, end);
    Utf8.require(line, start, end);
    return rules.hash().of(line, start, end);
  }

  private static void requireText(byte[] line, int start, int end) {
    for (int i = start; i < end; i++) {
      if (!ByteSet.isBlank(line[i])) {
        return;
      }
    }
    throw new LineParser.MalformedLineException(
        "an id must not be empty; name the separators of the file in LineParser.separatedBy, where a"
            + " space stands for any number of them");
  }

  /** Adds an edge from {@code b} or {@code b:w}; empty pieces do not count. */
  private void addLink(byte[] line, int field) {
    int start = fields.start(field);
    int end = fields.end(field);
    int first = piece(line, start, end);
    int cut = separator(line, first, end);
    int second = piece(line, cut, end);
    if (second == end) {
      add(start, end, 1);
    } else {
      add(first, cut, weight(line, second, separator(line, second, end)));
    }
  }

  /** Returns the position of the next byte that is not a separator. */
  private int piece(byte[] line, int from, int end) {
    int at = from;
    while (at < end && rules.valueSeparators().contains(line[at])) {
      at++;
    }
    return at;
  }

  /** Returns the position of the next byte that is a separator. */
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
