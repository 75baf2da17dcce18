// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

/** A table that numbers ids in the order of their arrival. */
abstract class IdTable {
  static IdTable of(IdMap.Kind kind) {
    return kind == IdMap.Kind.NUMBER ? new NumberIds() : new TextIds();
  }

  abstract int size();

  static IllegalStateException tooMany(int size) {
    return new IllegalStateException(
        "a rank must have at most %d ids, got more; use more ranks".formatted(size));
  }

  /** Adds the next id of a message, in the format of {@link #write}; returns its number. */
  abstract int read(WireReader in);

  /** Writes an id to a message. */
  static void write(IdMap ids, int number, WireWriter out) {
    if (ids.kind() == IdMap.Kind.NUMBER) {
      out.putLong(ids.id(number));
    } else {
      out.putBytes(ids.texts(), ids.start(number), ids.end(number));
    }
  }

  /** Returns the ids in ascending order. */
  abstract IdMap sorted();

  /** Returns the local number of each arrival number in a map that contains all ids. */
  abstract int[] numbersIn(IdMap ids);
}
