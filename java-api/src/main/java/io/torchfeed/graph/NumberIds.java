// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import io.torchfeed.internal.Hash64;

/**
 * A hash table that numbers ids that are numbers, in the order of arrival.
 *
 * <p>An id and its arrival number are adjacent, and ids that differ only in their last two bits
 * share a cache line. A look-up takes one memory access, and for graphs, whose busy vertices often
 * have neighbouring ids, often none.
 */
final class NumberIds extends IdTable {
  private static final int MAX_PLACES = 1 << 29;

  /** For each place, the id followed by its arrival number plus 1, or 0 if the place is free. */
  private long[] table = new long[2 << 8];

  private int size;

  @Override
  int size() {
    return size;
  }

  private static int first(long id, int places) {
    long line = Hash64.mix(id >>> 2);
    return (int) ((line << 2) | (id & 3)) & (places - 1);
  }

  int number(long id) {
    int at = find(table, id);
    if (table[at + 1] == 0) {
      return add(at, id);
    }
    return (int) table[at + 1] - 1;
  }

  /** Numbers several ids at once, so that their memory accesses overlap. */
  void numbers(long[] ids, int count, int[] into) {
    for (int i = 0; i < count; i++) {
      long[] all = table;
      int at = find(all, ids[i]);
      int number = (int) all[at + 1];
      into[i] = number == 0 ? add(at, ids[i]) : number - 1;
    }
  }

  /** Returns the index at which an id is, or would be. */
  private static int find(long[] table, long id) {
    int at = 2 * first(id, table.length / 2);
    while (table[at + 1] != 0 && table[at] != id) {
      at = (at + 2) & (table.length - 1);
    }
    return at;
  }

  private int add(int at, long id) {
    int number = size;
    table[at] = id;
    table[at + 1] = number + 1L;
    size++;
    if (4L * size > table.length) {
      grow();
    }
    return number;
  }

  private void grow() {
    if (table.length == 2 * MAX_PLACES) {
      throw tooMany(size);
    }
    long[] longer = new long[2 * table.length];
    for (int at = 0; at < table.length; at += 2) {
      if (table[at + 1] != 0) {
        int to = find(longer, table[at]);
        longer[to] = table[at];
        longer[to + 1] = table[at + 1];
      }
    }
    table = longer;
  }

  @Override
  int read(WireReader in) {
    return number(in.getLong());
  }

  @Override
  IdMap sorted() {
    long[] ids = new long[size];
    for (int at = 0; at < table.length; at += 2) {
      if (table[at + 1] != 0) {
        ids[(int) table[at + 1] - 1] = table[at];
      }
    }
    return IdMap.ofNumbers(ids);
  }

  @Override
  int[] numbersIn(IdMap map) {
    int[] numbers = new int[size];
    for (int i = 0; i < map.size(); i++) {
      int arrival = (int) table[find(table, map.id(i)) + 1];
      if (arrival != 0) {
        numbers[arrival - 1] = i;
      }
    }
    return numbers;
  }
}
