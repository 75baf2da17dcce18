// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.util.List;

/** The edges that a rank has got, by sending rank, with their ids numbered by arrival. */
final class EdgeInbox {
  private static final int BATCH = 256;

  final IdTable firsts;
  final IdTable seconds;
  private final EdgeChunks[] bySender;

  /** Edges with ids that are numbers wait here for their arrival numbers. */
  private final long[] firstIds = new long[BATCH];

  private final long[] secondIds = new long[BATCH];
  private final double[] weights = new double[BATCH];
  private final int[] firstNumbers = new int[BATCH];
  private final int[] secondNumbers = new int[BATCH];
  private int waiting;
  private int sender;

  EdgeInbox(IdKind ids, int worldSize) {
    firsts = IdTable.of(ids);
    seconds = IdTable.of(ids);
    bySender = new EdgeChunks[worldSize];
    for (int i = 0; i < worldSize; i++) {
      bySender[i] = new EdgeChunks();
    }
  }

  /** An edge with ids that are numbers. */
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

  /** An edge with ids that are texts, as parts of a line. */
  void add(int from, byte[] line, EdgeParser parser, int edge) {
    int first = ((TextIds) firsts).number(line, parser.firstStart(), parser.firstEnd());
    int second = ((TextIds) seconds).number(line, parser.secondStart(edge), parser.secondEnd(edge));
    bySender[from].add(first, second, parser.weight(edge));
  }

  /** All edges of the rest of a message. */
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

  /** The edges by sending rank, after the last was added. */
  List<EdgeChunks> edges() {
    flush();
    return List.of(bySender);
  }
}
