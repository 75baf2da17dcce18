// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import java.io.Serializable;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.jspecify.annotations.Nullable;

/** The columns of a DataFrame as values of a table. */
public final class TableValues implements Serializable {
  private static final long serialVersionUID = 1L;

  /** The type of a value. */
  private enum Kind {
    BOOLEAN,
    BYTE,
    SHORT,
    INT,
    LONG,
    FLOAT,
    DOUBLE,
    DECIMAL,
    TEXT,
    DATE,
    TIME;

    static @Nullable Kind of(DataType type) {
      if (type instanceof BooleanType) {
        return BOOLEAN;
      } else if (type instanceof ByteType) {
        return BYTE;
      } else if (type instanceof ShortType) {
        return SHORT;
      } else if (type instanceof IntegerType) {
        return INT;
      } else if (type instanceof LongType) {
        return LONG;
      } else if (type instanceof FloatType) {
        return FLOAT;
      } else if (type instanceof DoubleType) {
        return DOUBLE;
      }
      return ofOthers(type);
    }

    private static @Nullable Kind ofOthers(DataType type) {
      if (type instanceof DecimalType) {
        return DECIMAL;
      } else if (type instanceof StringType) {
        return TEXT;
      } else if (type instanceof DateType) {
        return DATE;
      }
      return type instanceof TimestampType || type instanceof TimestampNTZType ? TIME : null;
    }
  }

  private final int[] ordinals;
  private final Kind[] kinds;
  private final DataType[] types;

  private TableValues(int[] ordinals, Kind[] kinds, DataType[] types) {
    this.ordinals = ordinals;
    this.kinds = kinds;
    this.types = types;
  }

  /**
   * Checks columns against a schema.
   *
   * @throws SparkRanksException if a column is missing, or has no single value of a table
   */
  public static TableValues of(StructType schema, List<String> names) {
    int[] ordinals = new int[names.size()];
    Kind[] kinds = new Kind[ordinals.length];
    DataType[] types = new DataType[ordinals.length];
    for (int i = 0; i < ordinals.length; i++) {
      ordinals[i] = SchemaNames.ordinal(schema, names.get(i));
      types[i] = schema.apply(ordinals[i]).dataType();
      Kind kind = Kind.of(types[i]);
      if (kind == null) {
        throw new SparkRanksException(
            Problem.SCHEMA,
            ("the column %s of a table must have a number, boolean, text, date or time,"
                    + " but is %s")
                .formatted(names.get(i), types[i].catalogString()));
      }
      kinds[i] = kind;
    }
    return new TableValues(ordinals, kinds, types);
  }

  /** Returns the number of columns. */
  public int size() {
    return ordinals.length;
  }

  /**
   * Reads the values of a row, null for a missing one.
   *
   * @param into receives a value of each column
   */
  public void read(InternalRow row, @Nullable Object[] into) {
    for (int i = 0; i < ordinals.length; i++) {
      into[i] = row.isNullAt(ordinals[i]) ? null : value(row, i);
    }
  }

  private Object value(InternalRow row, int column) {
    int at = ordinals[column];
    return switch (kinds[column]) {
      case BOOLEAN -> row.getBoolean(at);
      case BYTE -> row.getByte(at);
      case SHORT -> row.getShort(at);
      case INT -> row.getInt(at);
      case LONG -> row.getLong(at);
      case FLOAT -> row.getFloat(at);
      case DOUBLE -> row.getDouble(at);
      case DECIMAL -> {
        DecimalType type = (DecimalType) types[column];
        yield row.getDecimal(at, type.precision(), type.scale()).toJavaBigDecimal();
      }
      case TEXT -> row.getUTF8String(at).toString();
      case DATE -> LocalDate.ofEpochDay(row.getInt(at));
      case TIME -> {
        long micros = row.getLong(at);
        long second = TimeUnit.SECONDS.toMicros(1);
        yield Instant.ofEpochSecond(
            Math.floorDiv(micros, second),
            TimeUnit.MICROSECONDS.toNanos(Math.floorMod(micros, second)));
      }
    };
  }
}
