// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.graph;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Hash64;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * A map from ids to local numbers 0 … size - 1, in ascending order of the ids: numbers are compared
 * as unsigned, texts byte by byte. Takes 8 bytes per number, and 4 bytes plus its own bytes per
 * text. Immutable.
 */
public final class IdMap {
  /**
   * A 64-bit hash of an id that is a text, over its bytes in UTF-8. It never changes: stored data
   * depends on it.
   */
  public enum Hash {
    /** torchfeed's own hash: FNV-1a, then the finaliser of SplitMix64. */
    FNV_MIX {
      @Override
      long of(byte[] bytes, int start, int end) {
        return Hash64.mix(Hash64.fnv1a(bytes, start, end));
      }
    },

    /**
     * {@code std::hash<std::string>} of GCC's standard library on 64-bit Linux, which Paracel uses
     * there.
     */
    LIBSTDCXX {
      @Override
      long of(byte[] bytes, int start, int end) {
        int length = end - start;
        long hash = MURMUR_SEED ^ length * MURMUR;
        int at = start;
        for (; at <= end - Long.BYTES; at += Long.BYTES) {
          hash = (hash ^ shifted((long) WORD.get(bytes, at) * MURMUR) * MURMUR) * MURMUR;
        }
        if (at < end) {
          long tail = 0;
          for (int i = end - 1; i >= at; i--) {
            tail = (tail << 8) | (bytes[i] & 0xff);
          }
          hash = (hash ^ tail) * MURMUR;
        }
        return shifted(shifted(hash) * MURMUR);
      }
    };

    private static final VarHandle WORD =
        MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long MURMUR = 0xc6a4a7935bd1e995L;
    private static final long MURMUR_SEED = 0xc70f6907L;

    private static long shifted(long k) {
      return k ^ (k >>> 47);
    }

    abstract long of(byte[] bytes, int start, int end);

    /**
     * Returns the hash of a text.
     *
     * @param text any text
     * @return its hash, any 64 bits
     */
    public long of(String text) {
      requireNonNull(text, "text");
      byte[] bytes = text.getBytes(UTF_8);
      return of(bytes, 0, bytes.length);
    }
  }

  /** The kind of the ids in lines. */
  public enum Kind {
    /**
     * Whole numbers in [0, 2<sup>64</sup> - 1]; numbers of at least 2<sup>63</sup> are negative
     * longs.
     */
    NUMBER,

    /** Any text in UTF-8, compared byte by byte. */
    TEXT
  }

  private static final long TOP_BIT = Long.MIN_VALUE;

  private final Kind kind;

  /** The numbers, with the top bit flipped so that they ascend as signed longs; empty for texts. */
  private final long[] flipped;

  /** The texts, concatenated; empty for numbers. {@link #ends} holds the end of each. */
  private final byte[] texts;

  private final int[] ends;

  private IdMap(Kind kind, long[] flipped, byte[] texts, int[] ends) {
    this.kind = kind;
    this.flipped = flipped;
    this.texts = texts;
    this.ends = ends;
  }

  /** Creates a map of distinct numbers in any order; takes ownership of the array. */
  static IdMap ofNumbers(long[] ids) {
    for (int i = 0; i < ids.length; i++) {
      ids[i] ^= TOP_BIT;
    }
    Arrays.sort(ids);
    return new IdMap(Kind.NUMBER, ids, new byte[0], new int[0]);
  }

  /** Creates a map of texts in ascending order; takes ownership of the arrays. */
  static IdMap ofTexts(byte[] texts, int[] ends) {
    return new IdMap(Kind.TEXT, new long[0], texts, ends);
  }

  /**
   * Returns the kind of the ids.
   *
   * @return the kind
   */
  public Kind kind() {
    return kind;
  }

  /**
   * Returns the number of ids.
   *
   * @return the number of ids, at least 0
   */
  public int size() {
    return kind == Kind.NUMBER ? flipped.length : ends.length;
  }

  /**
   * Returns an id that is a number.
   *
   * @param number the local number, in [0, size - 1]
   * @return the id, as an unsigned number
   * @throws IllegalStateException if the ids are texts
   * @throws IndexOutOfBoundsException if there is no such local number
   */
  public long id(int number) {
    if (kind == Kind.TEXT) {
      throw new IllegalStateException("the ids are texts; use name");
    }
    return flipped[Checks.requireIndex("number", number, size())] ^ TOP_BIT;
  }

  /**
   * Returns an id as a text.
   *
   * @param number the local number, in [0, size - 1]
   * @return the text; for a number its decimal digits
   * @throws IndexOutOfBoundsException if there is no such local number
   */
  public String name(int number) {
    if (kind == Kind.NUMBER) {
      return Long.toUnsignedString(id(number));
    }
    Checks.requireIndex("number", number, size());
    return new String(texts, start(number), end(number) - start(number), UTF_8);
  }

  /**
   * Returns the local number of an id that is a number.
   *
   * @param id the id, as an unsigned number
   * @return its local number, -1 if there is no such id
   * @throws IllegalStateException if the ids are texts
   */
  public int numberOf(long id) {
    if (kind == Kind.TEXT) {
      throw new IllegalStateException("the ids are texts; look up a text");
    }
    return Math.max(-1, Arrays.binarySearch(flipped, id ^ TOP_BIT));
  }

  /**
   * Returns the local number of an id given as a text.
   *
   * @param name the text; for a number its decimal digits
   * @return its local number, -1 if there is no such id
   */
  public int numberOf(String name) {
    requireNonNull(name, "name");
    if (kind == Kind.NUMBER) {
      return name.matches("[0-9]{1,20}") ? numberOfDigits(name) : -1;
    }
    byte[] bytes = name.getBytes(UTF_8);
    return numberOf(bytes, 0, bytes.length);
  }

  private int numberOfDigits(String digits) {
    try {
      return numberOf(Long.parseUnsignedLong(digits));
    } catch (NumberFormatException e) {
      return -1; // 2^64 or more, which no id is
    }
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
    return kind == Kind.NUMBER
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

  /** Returns the hash that determines which rank owns the id. */
  long hash(int number, Hash hash) {
    return kind == Kind.NUMBER ? id(number) : hash.of(texts, start(number), end(number));
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
