// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import dev.hardwood.metadata.LogicalType;
import dev.hardwood.schema.ColumnSchema;
import org.jspecify.annotations.Nullable;

/** The kind of the values of a leaf of the schema. */
enum LeafKind {
  BOOLEAN,
  INT,
  UNSIGNED_INT,
  LONG,
  UNSIGNED_LONG,
  HALF,
  FLOAT,
  DOUBLE,
  DECIMAL,
  /** Days, as an int. */
  DATE,
  /** A long in a unit. */
  TIMESTAMP,
  /** The day and the nanosecond of the day, in 12 bytes. */
  INT96,
  BYTES,
  TEXT;

  private static final int INT_BITS = 32;
  private static final int LONG_BITS = 64;

  boolean isFloating() {
    return this == HALF || this == FLOAT || this == DOUBLE || this == DECIMAL;
  }

  /** Returns whether the numbers are in the array that Hardwood has. */
  boolean isPlain() {
    return switch (this) {
      case INT, LONG, FLOAT, DOUBLE, DATE, TIMESTAMP -> true;
      case BOOLEAN, UNSIGNED_INT, UNSIGNED_LONG, HALF, DECIMAL, INT96, BYTES, TEXT -> false;
    };
  }

  static LeafKind of(ColumnSchema column) {
    @Nullable LogicalType logical = column.logicalType();
    if (logical instanceof LogicalType.DecimalType) {
      return DECIMAL;
    }
    return switch (column.type()) {
      case BOOLEAN -> BOOLEAN;
      case INT32 ->
          logical instanceof LogicalType.DateType
              ? DATE
              : isUnsigned(logical, INT_BITS) ? UNSIGNED_INT : INT;
      case INT64 ->
          logical instanceof LogicalType.TimestampType
              ? TIMESTAMP
              : isUnsigned(logical, LONG_BITS) ? UNSIGNED_LONG : LONG;
      case INT96 -> INT96;
      case FLOAT -> FLOAT;
      case DOUBLE -> DOUBLE;
      case FIXED_LEN_BYTE_ARRAY -> logical instanceof LogicalType.Float16Type ? HALF : BYTES;
      case BYTE_ARRAY -> isText(logical) ? TEXT : BYTES;
    };
  }

  private static boolean isUnsigned(@Nullable LogicalType logical, int bits) {
    return logical instanceof LogicalType.IntType type
        && !type.isSigned()
        && type.bitWidth() == bits;
  }

  private static boolean isText(@Nullable LogicalType logical) {
    return logical instanceof LogicalType.StringType
        || logical instanceof LogicalType.EnumType
        || logical instanceof LogicalType.JsonType;
  }
}
