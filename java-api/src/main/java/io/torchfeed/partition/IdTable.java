// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

/** Gives ids numbers in the order of their arrival. */
abstract class IdTable {
  static IdTable of(IdKind kind) {
    return kind == IdKind.NUMBER ? new NumberIds() : new TextIds();
  }

  abstract int size();

  static IllegalStateException tooMany(int size) {
    return new IllegalStateException(
        "a rank must have %d ids at most, got more; use more ranks".formatted(size));
  }

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

  /** The ids in ascending order. */
  abstract IdMap sorted();

  /** The local number in a map, which has all ids, of each arrival number. */
  abstract int[] numbersIn(IdMap ids);
}
