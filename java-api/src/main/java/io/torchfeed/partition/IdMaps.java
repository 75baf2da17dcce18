// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.util.function.IntPredicate;

/** Unions of ids. */
final class IdMaps {
  private IdMaps() {}

  static int numberIn(IdMap map, IdMap from, int number) {
    return from.kind() == IdKind.NUMBER
        ? map.numberOf(from.id(number))
        : map.numberOf(from.texts(), from.start(number), from.end(number));
  }

  static IdMap union(IdMap one, IdMap other) {
    IdTable table = IdTable.of(one.kind());
    table.addAll(one);
    table.addAll(other);
    return table.sorted();
  }

  /** The ids of this rank and of all ranks that it shares them with. All ranks must call it. */
  static IdMap shared(IdMap own, int rank, int worldSize, IntPredicate with, AllToAll exchange) {
    byte[][] messages = new byte[worldSize][];
    byte[] ids = null;
    for (int to = 0; to < worldSize; to++) {
      boolean sends = to != rank && with.test(to);
      if (sends && ids == null) {
        ids = bytes(own);
      }
      messages[to] = sends && ids != null ? ids : new byte[0];
    }
    byte[][] received = exchange.exchange(messages);
    IdTable table = IdTable.of(own.kind());
    table.addAll(own);
    for (int from = 0; from < worldSize; from++) {
      WireReader in = new WireReader(from, received[from]);
      while (in.hasMore()) {
        table.read(in);
      }
    }
    return table.sorted();
  }

  private static byte[] bytes(IdMap ids) {
    WireWriter out = new WireWriter();
    for (int i = 0; i < ids.size(); i++) {
      IdTable.write(ids, i, out);
    }
    return out.take();
  }
}
