// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import io.torchfeed.memory.RowSpec;
import io.torchfeed.spark.InvalidRows;
import io.torchfeed.spark.RowColumn;
import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import java.io.Serializable;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * The columns of a DataFrame as rows of fixed size: the driver checks them against the schema, and
 * the executors encode.
 */
public final class RowEncoder implements Serializable {
  private static final long serialVersionUID = 1L;
  private static final Logger LOGGER = System.getLogger("io.torchfeed.spark");

  private final RowColumn[] columns;
  private final ValueSource[] sources;
  private final InvalidRows invalid;

  private RowEncoder(RowColumn[] columns, ValueSource[] sources, InvalidRows invalid) {
    this.columns = columns;
    this.sources = sources;
    this.invalid = invalid;
  }

  /**
   * Checks columns against a schema.
   *
   * @param columns empty for all columns of the schema, which must be numbers
   * @throws SparkRanksException if a column is missing, or of a type that it cannot come from
   */
  public static RowEncoder of(StructType schema, List<RowColumn> columns) {
    List<RowColumn> wanted = columns.isEmpty() ? ColumnSource.allOf(schema) : columns;
    List<ValueSource> sources = new ArrayList<>();
    for (RowColumn column : wanted) {
      sources.add(
          column.table().isPresent()
              ? TableSource.of(schema, column.table().get())
              : ofValue(schema, column));
    }
    return new RowEncoder(
        wanted.toArray(RowColumn[]::new), sources.toArray(ValueSource[]::new), InvalidRows.ERROR);
  }

  private static ValueSource ofValue(StructType schema, RowColumn column) {
    int ordinal = SchemaNames.ordinal(schema, column.name());
    return ColumnSource.of(schema.apply(ordinal).dataType(), ordinal, column);
  }

  /** Returns this encoder with another way of rows that do not fit. */
  public RowEncoder withInvalid(InvalidRows way) {
    return new RowEncoder(columns, sources, way);
  }

  public List<RowColumn> columns() {
    return List.of(columns);
  }

  /** The executor's part, with the memory of a row. Not thread-safe. */
  public final class Buffer implements AutoCloseable {
    private final byte[] bytes;
    private final ByteBuffer[] parts;
    private final ElementWriter[] writers;
    private final ValueSource.Reader[] readers;
    private long left;
    private String first = "";

    public Buffer() {
      long size = 0;
      for (RowColumn column : columns) {
        size += column.row().bytes();
      }
      if (size > Integer.MAX_VALUE - Long.BYTES) {
        throw new SparkRanksException(
            Problem.SCHEMA, "a row must have fewer than 2^31 bytes, got " + size);
      }
      bytes = new byte[(int) size];
      parts = new ByteBuffer[columns.length];
      writers = new ElementWriter[columns.length];
      readers = new ValueSource.Reader[columns.length];
      int start = 0;
      for (int i = 0; i < columns.length; i++) {
        RowSpec row = columns[i].row();
        parts[i] =
            ByteBuffer.wrap(bytes, start, (int) row.bytes()).slice().order(ByteOrder.nativeOrder());
        writers[i] =
            ElementWriter.of(columns[i], parts[i].duplicate().order(ByteOrder.nativeOrder()));
        readers[i] = sources[i].reader();
        start += (int) row.bytes();
      }
    }

    /**
     * Encodes a row.
     *
     * @param number the number of the row in its partition, for messages
     * @return false if a value does not fit, so that the row is to be left out
     * @throws SparkRanksException if a value does not fit, and that is an error
     */
    public boolean encode(InternalRow row, long number) {
      for (int i = 0; i < readers.length; i++) {
        String problem = readers[i].read(row, writers[i]);
        if (problem != null) {
          refuse("row %d of the partition, column %s: %s".formatted(number, columns[i], problem));
          return false;
        }
      }
      return true;
    }

    private void refuse(String problem) {
      if (invalid == InvalidRows.ERROR) {
        throw new SparkRanksException(Problem.ROW, problem);
      }
      first = left++ == 0 ? problem : first;
    }

    public byte[] bytes() {
      return bytes;
    }

    /** Returns the bytes of a column, at position 0. */
    public ByteBuffer column(int column) {
      return parts[column].clear();
    }

    /** Frees the memory, and warns of rows that were left out. */
    @Override
    public void close() {
      if (left > 0) {
        LOGGER.log(
            Level.WARNING, "{0} rows of a partition do not fit; the first: {1}", left, first);
        left = 0;
      }
      for (ElementWriter writer : writers) {
        writer.close();
      }
    }
  }
}
