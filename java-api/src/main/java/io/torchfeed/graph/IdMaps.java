// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import java.util.Arrays;
import java.util.List;
import java.util.function.IntPredicate;

/** Static operations on several maps of ids: unions and renumbering. */
final class IdMaps {
  private IdMaps() {}

  /** Returns the number of each id in a map that contains them all. */
  static int[] numbersIn(IdMap all, IdMap some) {
    int[] numbers = new int[some.size()];
    int at = 0;
    for (int i = 0; i < numbers.length; i++) {
      while (all.compare(at, some, i) < 0) {
        at++;
      }
      numbers[i] = at;
    }
    return numbers;
  }

  static IdMap union(IdMap one, IdMap other) {
    return one.kind() == IdMap.Kind.NUMBER ? unionOfNumbers(one, other) : unionOfTexts(one, other);
  }

  private static IdMap unionOfNumbers(IdMap one, IdMap other) {
    long[] ids = new long[one.size() + other.size()];
    int count = 0;
    for (int i = 0, j = 0; i < one.size() || j < other.size(); count++) {
      int order = order(one, i, other, j);
      ids[count] = order <= 0 ? one.id(i) : other.id(j);
      i += order <= 0 ? 1 : 0;
      j += order >= 0 ? 1 : 0;
    }
    return IdMap.ofNumbers(Arrays.copyOf(ids, count));
  }

  private static int order(IdMap one, int i, IdMap other, int j) {
    if (i == one.size() || j == other.size()) {
      return i == one.size() ? 1 : -1;
    }
    return one.compare(i, other, j);
  }

  private static IdMap unionOfTexts(IdMap one, IdMap other) {
    TextIds table = new TextIds();
    for (IdMap ids : List.of(one, other)) {
      for (int i = 0; i < ids.size(); i++) {
        table.number(ids.texts(), ids.start(i), ids.end(i));
      }
    }
    return table.sorted();
  }

  /**
   * Returns the union of the ids of this rank and of all ranks with which it shares them. All ranks
   * must call it.
   */
  static IdMap shared(IdMap own, int worldSize, int rank, IntPredicate with, AllToAll exchange) {
    byte[][] messages = new byte[worldSize][];
    byte[] ids = null;
    for (int to = 0; to < worldSize; to++) {
      boolean sends = to != rank && with.test(to);
      if (sends && ids == null) {
        ids = bytes(own);
      }
      messages[to] = sends && ids != null ? ids : new byte[0];
    }
    byte[][] received = ExchangeException.requireWhole(exchange.exchange(messages), worldSize);
    IdTable table = IdTable.of(own.kind());
    for (int from = 0; from < worldSize; from++) {
      WireReader in = new WireReader(from, received[from]);
      while (in.hasMore()) {
        table.read(in);
      }
    }
    return union(own, table.sorted());
  }

  private static byte[] bytes(IdMap ids) {
    WireWriter out = new WireWriter();
    for (int i = 0; i < ids.size(); i++) {
      IdTable.write(ids, i, out);
    }
    return out.take();
  }
}
