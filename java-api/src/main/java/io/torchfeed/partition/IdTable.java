// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import java.util.Arrays;

/** Gives ids numbers in the order of their arrival. */
abstract class IdTable {
  private static final int FREE = -1;

  /** Open addressing: arrival numbers, at most half of the places. */
  private int[] places = new int[1 << 8];

  private int size;

  IdTable() {
    Arrays.fill(places, FREE);
  }

  static IdTable of(IdKind kind) {
    return kind == IdKind.NUMBER ? new NumberIds() : new TextIds();
  }

  final int size() {
    return size;
  }

  /** The place of a hash, from which on to look. */
  final int firstPlace(long hash) {
    return (int) hash & (places.length - 1);
  }

  final int nextPlace(int place) {
    return (place + 1) & (places.length - 1);
  }

  /** The arrival number there; negative if the place is free. */
  final int at(int place) {
    return places[place];
  }

  /** Puts a new id at a free place. */
  final int add(int place) {
    int number = size;
    places[place] = number;
    size++;
    if (2 * size > places.length) {
      grow();
    }
    return number;
  }

  private void grow() {
    if (places.length == 1 << 30) {
      throw new IllegalStateException(
          "a rank must have %d ids at most, got more; use more ranks".formatted(size));
    }
    places = new int[2 * places.length];
    Arrays.fill(places, FREE);
    for (int number = 0; number < size; number++) {
      int place = firstPlace(hash(number));
      while (places[place] != FREE) {
        place = nextPlace(place);
      }
      places[place] = number;
    }
  }

  /** The hash that id {@code number} was placed by. */
  abstract long hash(int number);

  /** Adds the id at a place of a message, in the form of {@link #write}; returns its number. */
  abstract int read(WireReader in);

  /** Writes an id for a message. */
  static void write(IdMap ids, int number, WireWriter out) {
    if (ids.kind() == IdKind.NUMBER) {
      out.putLong(ids.id(number));
    } else {
      out.putBytes(ids.texts(), ids.start(number), ids.end(number));
    }
  }

  /** Adds all ids of a map. */
  abstract void addAll(IdMap ids);

  /** The ids in ascending order. */
  abstract IdMap sorted();

  /** The local number in a map, which has all ids, of each arrival number. */
  abstract int[] numbersIn(IdMap ids);
}
