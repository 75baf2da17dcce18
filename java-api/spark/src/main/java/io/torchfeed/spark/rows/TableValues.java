// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import java.io.Serializable;
import java.time.Instant;
import java.time.LocalDate;
import java.time.temporal.ChronoUnit;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/** The columns of a DataFrame as values of a table. */
public final class TableValues implements Serializable {
  private static final long serialVersionUID = 1L;

  private final int[] ordinals;
  private final DataType[] types;

  private TableValues(int[] ordinals, DataType[] types) {
    this.ordinals = ordinals;
    this.types = types;
  }

  /**
   * Checks columns against a schema.
   *
   * @throws SparkRanksException if a column is missing, or has no single value of a table
   */
  public static TableValues of(StructType schema, List<String> names) {
    int[] ordinals = new int[names.size()];
    DataType[] types = new DataType[ordinals.length];
    for (int i = 0; i < ordinals.length; i++) {
      ordinals[i] = SchemaNames.ordinal(schema, names.get(i));
      types[i] = schema.apply(ordinals[i]).dataType();
      if (!isValue(types[i])) {
        throw new SparkRanksException(
            Problem.SCHEMA,
            ("the column %s of a table must have a number, boolean, text, date or time,"
                    + " but is %s")
                .formatted(names.get(i), types[i].catalogString()));
      }
    }
    return new TableValues(ordinals, types);
  }

  private static boolean isValue(DataType type) {
    return type instanceof NumericType
        || type instanceof BooleanType
        || type instanceof StringType
        || type instanceof DateType
        || isTime(type);
  }

  private static boolean isTime(DataType type) {
    return type instanceof TimestampType || type instanceof TimestampNTZType;
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
    DataType type = types[column];
    Object value = row.get(ordinals[column], type);
    if (value instanceof Decimal decimal) {
      return decimal.toJavaBigDecimal();
    } else if (value instanceof UTF8String text) {
      return text.toString();
    } else if (type instanceof DateType) {
      return LocalDate.ofEpochDay((int) value);
    } else if (isTime(type)) {
      return Instant.EPOCH.plus((long) value, ChronoUnit.MICROS);
    }
    return value; // a number or a boolean
  }
}
