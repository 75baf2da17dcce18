// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import dev.hardwood.metadata.LogicalType.TimeUnit;
import dev.hardwood.reader.ColumnReader;
import dev.hardwood.reader.LayerKind;
import dev.hardwood.reader.Validity;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The values of a leaf in the batch that its reader is at. Not thread-safe. */
final class LeafBatch {
  private static final long JULIAN_EPOCH = 2_440_588;
  private static final long SECONDS = 86_400;
  private static final long NANOS = 1_000_000_000;
  private static final long MICROS = 1_000_000;
  private static final long MILLIS = 1_000;

  private final Leaf leaf;
  private final ColumnReader reader;
  private final Object values;
  private final int @Nullable [] offsets;
  private final Validity present;

  LeafBatch(Leaf leaf, ColumnReader reader) {
    this.leaf = leaf;
    this.reader = reader;
    present = reader.getLeafValidity();
    values =
        switch (leaf.kind()) {
          case BOOLEAN -> reader.getBooleans();
          case INT, UNSIGNED_INT, DATE -> reader.getInts();
          case LONG, UNSIGNED_LONG, TIMESTAMP -> reader.getLongs();
          case FLOAT -> reader.getFloats();
          case DOUBLE -> reader.getDoubles();
          case DECIMAL ->
              switch (reader.getColumnSchema().type()) {
                case INT32 -> reader.getInts();
                case INT64 -> reader.getLongs();
                default -> reader.getBinaryValues();
              };
          case HALF, INT96, BYTES, TEXT -> reader.getBinaryValues();
        };
    offsets = values instanceof byte[] ? reader.getBinaryOffsets() : null;
  }

  LeafKind kind() {
    return leaf.kind();
  }

  /** Returns how many lists are around a value. */
  int lists() {
    return leaf.lists();
  }

  Object values() {
    return values;
  }

  /** Returns whether a leaf is null; a list that is null or empty has none. */
  boolean hasNulls() {
    return present.hasNulls();
  }

  /** Returns whether a leaf, or a group around it, is null. */
  boolean isNull(int at) {
    return present.hasNulls() && present.isNull(at);
  }

  boolean isNull(int layer, int item) {
    Validity validity = reader.getLayerValidity(layer);
    return validity.hasNulls() && validity.isNull(item);
  }

  int layers() {
    return reader.getLayerCount();
  }

  boolean isList(int layer) {
    return reader.getLayerKind(layer) == LayerKind.REPEATED;
  }

  /** Returns where the items of each list begin, and after them the end of the last. */
  int[] listOffsets(int layer) {
    return reader.getLayerOffsets(layer);
  }

  private int[] offsets() {
    if (offsets == null) {
      throw new AssertionError(leaf);
    }
    return offsets;
  }

  int byteCount(int at) {
    return offsets()[at + 1] - offsets()[at];
  }

  int byteOffset(int at) {
    return offsets()[at];
  }

  private byte[] bytes(int at) {
    return Arrays.copyOfRange((byte[]) values, offsets()[at], offsets()[at + 1]);
  }

  /**
   * Returns an integer.
   *
   * @throws UnfitValueException if it has more than 63 bits
   */
  long integer(int at) {
    return switch (leaf.kind()) {
      case BOOLEAN -> ((boolean[]) values)[at] ? 1 : 0;
      case INT, DATE -> ((int[]) values)[at];
      case UNSIGNED_INT -> Integer.toUnsignedLong(((int[]) values)[at]);
      case LONG, TIMESTAMP -> ((long[]) values)[at];
      case UNSIGNED_LONG -> {
        long value = ((long[]) values)[at];
        if (value < 0) {
          throw new UnfitValueException(
              "the value must be below 2^63, got " + Long.toUnsignedString(value));
        }
        yield value;
      }
      case INT96 -> {
        try {
          Instant time = int96(at);
          yield Math.addExact(Math.multiplyExact(time.getEpochSecond(), NANOS), time.getNano());
        } catch (ArithmeticException e) {
          throw new UnfitValueException(
              "the time must be of the years 1678 to 2262, got " + int96(at));
        }
      }
      case FLOAT, DOUBLE, HALF, DECIMAL, BYTES, TEXT -> throw new AssertionError(leaf);
    };
  }

  /** Returns a number in floating point. */
  double decimal(int at) {
    return switch (leaf.kind()) {
      case FLOAT -> ((float[]) values)[at];
      case DOUBLE -> ((double[]) values)[at];
      case HALF ->
          Float.float16ToFloat(
              ByteBuffer.wrap((byte[]) values)
                  .order(ByteOrder.LITTLE_ENDIAN)
                  .getShort(byteOffset(at)));
      case DECIMAL -> exact(at).doubleValue();
      default -> throw new AssertionError(leaf);
    };
  }

  private BigDecimal exact(int at) {
    BigInteger unscaled =
        values instanceof int[] ints
            ? BigInteger.valueOf(ints[at])
            : values instanceof long[] longs
                ? BigInteger.valueOf(longs[at])
                : new BigInteger(bytes(at));
    return new BigDecimal(unscaled, leaf.scale());
  }

  private Instant int96(int at) {
    ByteBuffer bytes = ByteBuffer.wrap((byte[]) values).order(ByteOrder.LITTLE_ENDIAN);
    long nanos = bytes.getLong(byteOffset(at));
    long days = Integer.toUnsignedLong(bytes.getInt(byteOffset(at) + Long.BYTES)) - JULIAN_EPOCH;
    return Instant.ofEpochSecond(days * SECONDS, nanos);
  }

  /**
   * Returns a value for a table.
   *
   * @return null for a missing one
   * @throws UnfitValueException if it is malformed text, or a number of more than 63 bits
   */
  @Nullable Object cell(int record) {
    if (isNull(record)) {
      return null;
    }
    return switch (leaf.kind()) {
      case BOOLEAN -> ((boolean[]) values)[record];
      case INT, UNSIGNED_INT, LONG, UNSIGNED_LONG -> integer(record);
      case FLOAT, DOUBLE, HALF -> decimal(record);
      case DECIMAL -> exact(record);
      case DATE -> LocalDate.ofEpochDay(integer(record));
      case TIMESTAMP -> instant(integer(record));
      case INT96 -> int96(record);
      case BYTES, TEXT -> text(record);
    };
  }

  private Instant instant(long number) {
    long units =
        leaf.unit() == TimeUnit.MILLIS ? MILLIS : leaf.unit() == TimeUnit.MICROS ? MICROS : NANOS;
    return Instant.ofEpochSecond(
        Math.floorDiv(number, units), Math.floorMod(number, units) * (NANOS / units));
  }

  private String text(int at) {
    ByteBuffer bytes = ByteBuffer.wrap((byte[]) values, byteOffset(at), byteCount(at));
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
    } catch (CharacterCodingException e) {
      throw new UnfitValueException(
          "the value must be text in UTF-8, got %d other bytes".formatted(byteCount(at)));
    }
  }
}
