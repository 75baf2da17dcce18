// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Argument checks that several packages share; the C++ classes perform none. */
public final class Checks {
  /** The maximum world size of a plan whose division takes time and memory for each rank. */
  public static final int FEW_RANKS = 1 << 16;

  private Checks() {}

  public static void requireDatasetSize(long datasetSize) {
    if (datasetSize < 0) {
      throw new IllegalArgumentException("datasetSize must be at least 0, got " + datasetSize);
    }
  }

  public static void requireWorldSize(int worldSize) {
    if (worldSize < 1) {
      throw new IllegalArgumentException("worldSize must be at least 1, got " + worldSize);
    }
  }

  public static void requireWorldSize(int worldSize, int most) {
    if (worldSize < 1 || worldSize > most) {
      throw new IllegalArgumentException(
          "worldSize must be in [1, %d], got %d".formatted(most, worldSize));
    }
  }

  public static void requireRank(int worldSize, int rank) {
    requireWorldSize(worldSize);
    if (rank < 0 || rank >= worldSize) {
      throw new IllegalArgumentException(
          "Invalid rank %d, rank should be in the interval [0, %d]".formatted(rank, worldSize - 1));
    }
  }

  public static void requireFewRanks(int worldSize) {
    requireWorldSize(worldSize, FEW_RANKS);
  }

  public static long requireAtLeastZero(String name, long value) {
    if (value < 0) {
      throw new IllegalArgumentException(name + " must be at least 0, got " + value);
    }
    return value;
  }

  public static void requireEpoch(long epoch) {
    if (epoch < 0) {
      throw new IllegalArgumentException("epoch must be at least 0, got " + epoch);
    }
  }

  /** Requires a number of draws that a list can hold. */
  public static void requireSamples(long numSamples) {
    if (numSamples < 1 || numSamples > IndexList.MAX_SIZE) {
      throw new IllegalArgumentException(
          "numSamples must be in [1, %d], since an epoch is held as a list, got %d"
              .formatted(IndexList.MAX_SIZE, numSamples));
    }
  }

  /** Returns a text in UTF-8, which has no halves of surrogate pairs. */
  public static byte[] utf8(String name, String text) {
    int length = requireNonNull(text, name).length();
    for (int i = 0, code; i < length; i += Character.charCount(code)) {
      code = text.codePointAt(i);
      if (Character.getType(code) == Character.SURROGATE) {
        throw new IllegalArgumentException(
            "%s must not have half of a surrogate pair, got one at index %d".formatted(name, i));
      }
    }
    return text.getBytes(UTF_8);
  }

  /** Returns a number of bytes as the length of an array. */
  public static int requireArrayLength(String name, long bytes) {
    if (bytes > IndexList.MAX_SIZE) {
      throw new IllegalArgumentException(
          "%s must have at most %d bytes, which fit into a Java array, got %d"
              .formatted(name, IndexList.MAX_SIZE, bytes));
    }
    return (int) bytes;
  }

  /** Returns a copy of a list without nulls; the exception names the list and the place. */
  public static <T> List<T> copyOf(String name, Collection<? extends T> values) {
    requireNoNull(name, requireNonNull(values, name).toArray());
    return List.copyOf(values);
  }

  /** Requires an array without nulls; the exception names the array and the place. */
  public static void requireNoNull(String name, @Nullable Object[] values) {
    for (int i = 0; i < values.length; i++) {
      if (values[i] == null) {
        throw new NullPointerException("%s[%d] must not be null".formatted(name, i));
      }
    }
  }

  /** Returns the problem of the messages to send to all ranks; null if there is none. */
  public static @Nullable String problemOfMessages(byte[][] messages, int worldSize) {
    String rule = "messages must hold one for each of %d ranks, got ".formatted(worldSize);
    if (messages.length != worldSize) {
      return rule + messages.length;
    }
    int missing = Arrays.asList(messages).indexOf(null);
    return missing < 0 ? null : rule + "null for rank " + missing;
  }

  /** Returns an index in [0, size); the exception for any other names it. */
  public static int requireIndex(String name, int index, int size) {
    return (int) requireIndex(name, (long) index, (long) size);
  }

  /** Returns an index in [0, size); the exception for any other names it. */
  public static long requireIndex(String name, long index, long size) {
    if (index < 0 || index >= size) {
      throw outOfRange(name, index, size);
    }
    return index;
  }

  private static IndexOutOfBoundsException outOfRange(String name, long index, long size) {
    return new IndexOutOfBoundsException(
        size == 0
            ? "there is no %s, got %d".formatted(name, index)
            : "%s must be in [0, %d], got %d".formatted(name, size - 1, index));
  }

  /** Requires a number of the first elements of something that has {@code size}. */
  public static void requireCount(String name, int count, int size) {
    if (count < 0 || count > size) {
      throw new IndexOutOfBoundsException(
          "%s must be in [0, %d], got %d".formatted(name, size, count));
    }
  }

  /** Requires that elements to be written from a place on fit an array. */
  public static void requireRoom(long[] into, int from, int count) {
    if (from < 0 || count < 0 || from > into.length - count) {
      throw new IndexOutOfBoundsException(
          "%d values from element %d on must fit 'into', which has %d elements"
              .formatted(count, from, into.length));
    }
  }

  public static void requirePosition(long position, long size) {
    if (position < 0 || position > size) {
      throw new IllegalArgumentException(
          "position must be in [0, %d], got %d".formatted(size, position));
    }
  }
}
