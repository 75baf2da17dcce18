// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import java.util.List;

/** The edges that a rank has received, by sending rank, with their ids numbered by arrival. */
final class ReceivedEdges {
  private static final int BATCH = 256;

  final IdTable firsts;
  final IdTable seconds;
  private final EdgeChunks[] bySender;

  /** The pending edges, whose ids are numbers without arrival numbers yet. */
  private final long[] firstIds = new long[BATCH];

  private final long[] secondIds = new long[BATCH];
  private final double[] weights = new double[BATCH];
  private final int[] firstNumbers = new int[BATCH];
  private final int[] secondNumbers = new int[BATCH];
  private int waiting;
  private int sender;

  ReceivedEdges(IdMap.Kind ids, int worldSize) {
    firsts = IdTable.of(ids);
    seconds = IdTable.of(ids);
    bySender = new EdgeChunks[worldSize];
    for (int i = 0; i < worldSize; i++) {
      bySender[i] = new EdgeChunks();
    }
  }

  /** Adds an edge whose ids are numbers. */
  void add(int from, long first, long second, double weight) {
    if (waiting == BATCH || from != sender) {
      flush();
      sender = from;
    }
    firstIds[waiting] = first;
    secondIds[waiting] = second;
    weights[waiting] = weight;
    waiting++;
  }

  private void flush() {
    if (waiting > 0 && firsts instanceof NumberIds numbers && seconds instanceof NumberIds others) {
      numbers.numbers(firstIds, waiting, firstNumbers);
      others.numbers(secondIds, waiting, secondNumbers);
      bySender[sender].addAll(firstNumbers, secondNumbers, weights, waiting);
    }
    waiting = 0;
  }

  /** Adds an edge whose ids are texts, as parts of a line. */
  void add(int from, byte[] line, EdgeParser parser, int edge) {
    int first = ((TextIds) firsts).number(line, parser.firstStart(), parser.firstEnd());
    int second = ((TextIds) seconds).number(line, parser.secondStart(edge), parser.secondEnd(edge));
    bySender[from].add(first, second, parser.weight(edge));
  }

  /** Adds all edges in the rest of a message. */
  void addAll(int from, WireReader in) {
    boolean isNumbers = firsts instanceof NumberIds;
    while (in.hasMore()) {
      if (isNumbers) {
        add(from, in.getLong(), in.getLong(), in.getDouble());
      } else {
        int first = firsts.read(in);
        int second = seconds.read(in);
        bySender[from].add(first, second, in.getDouble());
      }
    }
  }

  /** Returns the edges by sending rank; called after the last edge was added. */
  List<EdgeChunks> edges() {
    flush();
    return List.of(bySender);
  }
}
