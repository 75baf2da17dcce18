// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.partition;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;

/**
 * Ids and their local numbers 0 … size - 1, in ascending order of the ids: numbers as unsigned
 * ones, texts byte by byte. Immutable. Takes 8 bytes for a number, and the bytes and 4 for a text.
 */
public final class IdMap {
  private static final long TOP_BIT = Long.MIN_VALUE;

  private final IdKind kind;

  /** Numbers, with the top bit turned over so that they ascend; or none. */
  private final long[] flipped;

  /** Texts one behind the other, and where each ends; or none. */
  private final byte[] texts;

  private final int[] ends;

  private IdMap(IdKind kind, long[] flipped, byte[] texts, int[] ends) {
    this.kind = kind;
    this.flipped = flipped;
    this.texts = texts;
    this.ends = ends;
  }

  /** Takes numbers in any order, each once; the array is given away. */
  static IdMap ofNumbers(long[] ids) {
    for (int i = 0; i < ids.length; i++) {
      ids[i] ^= TOP_BIT;
    }
    Arrays.sort(ids);
    return new IdMap(IdKind.NUMBER, ids, new byte[0], new int[0]);
  }

  /** Takes texts in ascending order; the arrays are given away. */
  static IdMap ofTexts(byte[] texts, int[] ends) {
    return new IdMap(IdKind.TEXT, new long[0], texts, ends);
  }

  /**
   * What the ids are.
   *
   * @return the kind
   */
  public IdKind kind() {
    return kind;
  }

  /**
   * How many ids there are.
   *
   * @return the number of ids, at least 0
   */
  public int size() {
    return kind == IdKind.NUMBER ? flipped.length : ends.length;
  }

  /**
   * An id that is a number.
   *
   * @param number the local number, in [0, size - 1]
   * @return the id, to be taken as unsigned
   * @throws IllegalStateException if the ids are texts
   * @throws IndexOutOfBoundsException if there is no such local number
   */
  public long id(int number) {
    if (kind == IdKind.TEXT) {
      throw new IllegalStateException("the ids are texts, use name");
    }
    return flipped[number] ^ TOP_BIT;
  }

  /**
   * An id as a text.
   *
   * @param number the local number, in [0, size - 1]
   * @return the text; of a number its decimal digits
   * @throws IndexOutOfBoundsException if there is no such local number
   */
  public String name(int number) {
    if (kind == IdKind.NUMBER) {
      return Long.toUnsignedString(id(number));
    }
    return new String(texts, start(number), end(number) - start(number), UTF_8);
  }

  /**
   * The local number of an id that is a number.
   *
   * @param id the id, taken as unsigned
   * @return its local number, -1 if there is no such id
   * @throws IllegalStateException if the ids are texts
   */
  public int numberOf(long id) {
    if (kind == IdKind.TEXT) {
      throw new IllegalStateException("the ids are texts, look for a text");
    }
    return Math.max(-1, Arrays.binarySearch(flipped, id ^ TOP_BIT));
  }

  /**
   * The local number of an id as a text.
   *
   * @param name the text; of a number its decimal digits
   * @return its local number, -1 if there is no such id
   */
  public int numberOf(String name) {
    if (kind == IdKind.NUMBER) {
      return name.matches("[0-9]{1,20}") ? numberOf(Long.parseUnsignedLong(name)) : -1;
    }
    byte[] bytes = name.getBytes(UTF_8);
    return numberOf(bytes, 0, bytes.length);
  }

  int numberOf(byte[] bytes, int from, int to) {
    int low = 0;
    int high = ends.length - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      int order = Arrays.compareUnsigned(texts, start(middle), end(middle), bytes, from, to);
      if (order == 0) {
        return middle;
      }
      if (order < 0) {
        low = middle + 1;
      } else {
        high = middle - 1;
      }
    }
    return -1;
  }

  /** Compares an id with one of another map of the same kind. */
  int compare(int number, IdMap other, int otherNumber) {
    return kind == IdKind.NUMBER
        ? Long.compare(flipped[number], other.flipped[otherNumber])
        : Arrays.compareUnsigned(
            texts,
            start(number),
            ends[number],
            other.texts,
            other.start(otherNumber),
            other.ends[otherNumber]);
  }

  byte[] texts() {
    return texts;
  }

  int start(int number) {
    return number == 0 ? 0 : ends[number - 1];
  }

  int end(int number) {
    return ends[number];
  }

  /** The hash that says which rank owns the id. */
  long hash(int number, IdHash hash) {
    return kind == IdKind.NUMBER ? id(number) : hash.of(texts, start(number), end(number));
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof IdMap map
        && kind == map.kind
        && Arrays.equals(flipped, map.flipped)
        && Arrays.equals(ends, map.ends)
        && Arrays.equals(texts, map.texts);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(flipped) + 31 * Arrays.hashCode(texts) + 7 * Arrays.hashCode(ends);
  }

  @Override
  public String toString() {
    return "IdMap[%d ids of kind %s]".formatted(size(), kind);
  }
}
