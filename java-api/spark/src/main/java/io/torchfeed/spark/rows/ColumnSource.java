// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import io.torchfeed.memory.DType;
import io.torchfeed.spark.RowColumn;
import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.UserDefinedType;
import org.jspecify.annotations.Nullable;

/** A value of a DataFrame's row, as the elements of a column. */
final class ColumnSource implements ValueSource, ValueSource.Reader {
  private static final long serialVersionUID = 1L;

  /** The fields of Spark ML's vectors. */
  private static final List<String> VECTOR = List.of("type", "size", "indices", "values");

  private static final byte SPARSE = 0;
  private static final int SIZE = 1;
  private static final int INDICES = 2;
  private static final int VALUES = 3;

  /** The form of a value. */
  private enum Form {
    NUMBER,
    ARRAY,
    VECTOR,
    BYTES
  }

  /** The type of a number, or of an array's elements. */
  private enum Kind {
    BOOLEAN(DType.BOOL),
    BYTE(DType.INT8),
    SHORT(DType.INT16),
    INT(DType.INT32),
    LONG(DType.INT64),
    FLOAT(DType.FLOAT32),
    DOUBLE(DType.FLOAT64);

    final DType dtype;

    Kind(DType dtype) {
      this.dtype = dtype;
    }

    boolean isFloating() {
      return this == FLOAT || this == DOUBLE;
    }

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
      }
      return type instanceof DoubleType ? DOUBLE : null;
    }
  }

  private final int ordinal;
  private final Form form;
  private final Kind kind;

  private ColumnSource(int ordinal, Form form, Kind kind) {
    this.ordinal = ordinal;
    this.form = form;
    this.kind = kind;
  }

  /** Returns the columns of a schema, all of which must be numbers. */
  static List<RowColumn> allOf(StructType schema) {
    return Arrays.stream(schema.fields())
        .map(
            field -> {
              Kind kind = Kind.of(field.dataType());
              if (kind == null) {
                throw new SparkRanksException(
                    Problem.SCHEMA,
                    ("column %s is %s: name its dtype and shape by RowColumn.of,"
                            + " or select other columns")
                        .formatted(field.name(), field.dataType().catalogString()));
              }
              return RowColumn.of(field.name(), kind.dtype);
            })
        .toList();
  }

  static ColumnSource of(DataType type, int ordinal, RowColumn column) {
    if (type instanceof BinaryType) {
      return new ColumnSource(ordinal, Form.BYTES, Kind.BYTE);
    }
    Form form = Form.NUMBER;
    Kind kind = Kind.of(type);
    if (type instanceof ArrayType array) {
      form = Form.ARRAY;
      kind = Kind.of(array.elementType());
    } else if (type instanceof UserDefinedType<?> user && isVector(user.sqlType())) {
      form = Form.VECTOR;
      kind = Kind.DOUBLE;
    }
    DType dtype = column.row().dtype();
    boolean fits =
        kind != null
            && column.plans().isEmpty()
            && (form != Form.NUMBER || column.row().elements() == 1)
            && (!kind.isFloating() || dtype == DType.FLOAT32 || dtype == DType.FLOAT64);
    if (kind == null || !fits) {
      throw new SparkRanksException(
          Problem.SCHEMA,
          "the column %s cannot be made from %s".formatted(column, type.catalogString()));
    }
    return new ColumnSource(ordinal, form, kind);
  }

  private static boolean isVector(DataType type) {
    return type instanceof StructType struct && Arrays.asList(struct.fieldNames()).equals(VECTOR);
  }

  @Override
  public Reader reader() {
    return this;
  }

  @Override
  public @Nullable String read(InternalRow row, ElementWriter into) {
    if (row.isNullAt(ordinal)) {
      return "the value must not be null";
    }
    return switch (form) {
      case NUMBER -> put(row, ordinal, 0, into);
      case ARRAY -> array(row.getArray(ordinal), into);
      case VECTOR -> vector(row.getStruct(ordinal, VECTOR.size()), into);
      case BYTES -> into.put(row.getBinary(ordinal));
    };
  }

  private @Nullable String put(
      SpecializedGetters from, int place, int element, ElementWriter into) {
    switch (kind) {
      case FLOAT -> into.put(element, from.getFloat(place));
      case DOUBLE -> into.put(element, from.getDouble(place));
      case BOOLEAN -> {
        return into.put(element, from.getBoolean(place) ? 1L : 0L);
      }
      case BYTE -> {
        return into.put(element, (long) from.getByte(place));
      }
      case SHORT -> {
        return into.put(element, (long) from.getShort(place));
      }
      case INT -> {
        return into.put(element, (long) from.getInt(place));
      }
      case LONG -> {
        return into.put(element, from.getLong(place));
      }
    }
    return null;
  }

  private @Nullable String array(ArrayData array, ElementWriter into) {
    int elements = array.numElements();
    if (elements != into.elements()) {
      return "the array must have %d elements, got %d".formatted(into.elements(), elements);
    }
    for (int i = 0; i < elements; i++) {
      if (array.isNullAt(i)) {
        return "element %d must not be null".formatted(i);
      }
    }
    if (kind == Kind.FLOAT) {
      into.put(array.toFloatArray());
    } else if (kind == Kind.DOUBLE) {
      into.put(array.toDoubleArray());
    } else {
      for (int i = 0; i < elements; i++) {
        String problem = put(array, i, i, into);
        if (problem != null) {
          return problem;
        }
      }
    }
    return null;
  }

  private static @Nullable String vector(InternalRow vector, ElementWriter into) {
    double[] values = vector.getArray(VALUES).toDoubleArray();
    boolean isSparse = vector.getByte(0) == SPARSE;
    int size = isSparse ? vector.getInt(SIZE) : values.length;
    if (size != into.elements()) {
      return "the vector must have %d elements, got %d".formatted(into.elements(), size);
    }
    if (isSparse) {
      int[] indices = vector.getArray(INDICES).toIntArray();
      into.clear();
      for (int i = 0; i < indices.length; i++) {
        into.put(indices[i], values[i]);
      }
    } else {
      into.put(values);
    }
    return null;
  }
}
