// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import io.torchfeed.memory.RowSpec;
import io.torchfeed.spark.RowColumn;
import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * The columns of a DataFrame as rows of fixed size: the driver checks them against the schema, and
 * the executors encode.
 */
public final class RowEncoder implements Serializable {
  private static final long serialVersionUID = 1L;

  private final RowColumn[] columns;
  private final ColumnSource[] sources;

  private RowEncoder(RowColumn[] columns, ColumnSource[] sources) {
    this.columns = columns;
    this.sources = sources;
  }

  /**
   * Checks columns against a schema.
   *
   * @param columns empty for all columns of the schema, which must be numbers
   * @throws SparkRanksException if a column is missing, or of a type that it cannot come from
   */
  public static RowEncoder of(StructType schema, List<RowColumn> columns) {
    List<RowColumn> wanted = columns.isEmpty() ? ColumnSource.allOf(schema) : columns;
    List<ColumnSource> sources = new ArrayList<>();
    for (RowColumn column : wanted) {
      List<String> names = Arrays.asList(schema.fieldNames());
      int ordinal = names.indexOf(column.name());
      if (ordinal != names.lastIndexOf(column.name())) {
        throw new SparkRanksException(
            Problem.SCHEMA,
            "the DataFrame must have one column %s, got %s".formatted(column.name(), names));
      }
      if (ordinal < 0) {
        throw new SparkRanksException(
            Problem.SCHEMA,
            "the DataFrame must have a column %s, got %s".formatted(column.name(), names));
      }
      sources.add(ColumnSource.of(schema.apply(ordinal).dataType(), ordinal, column));
    }
    return new RowEncoder(wanted.toArray(RowColumn[]::new), sources.toArray(ColumnSource[]::new));
  }

  public List<RowColumn> columns() {
    return List.of(columns);
  }

  /** The executor's part, with the memory of a row. Not thread-safe. */
  public final class Buffer implements AutoCloseable {
    private final byte[] bytes;
    private final ByteBuffer[] parts;
    private final ElementWriter[] writers;

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
      int start = 0;
      for (int i = 0; i < columns.length; i++) {
        RowSpec row = columns[i].row();
        parts[i] =
            ByteBuffer.wrap(bytes, start, (int) row.bytes()).slice().order(ByteOrder.nativeOrder());
        writers[i] =
            ElementWriter.of(columns[i], parts[i].duplicate().order(ByteOrder.nativeOrder()));
        start += (int) row.bytes();
      }
    }

    /**
     * Encodes a row.
     *
     * @param number the number of the row in its partition, for messages
     * @throws SparkRanksException if a value does not fit
     */
    public void encode(InternalRow row, long number) {
      for (int i = 0; i < sources.length; i++) {
        String problem = sources[i].read(row, writers[i]);
        if (problem != null) {
          throw new SparkRanksException(
              Problem.ROW,
              "row %d of the partition, column %s: %s".formatted(number, columns[i], problem));
        }
      }
    }

    public byte[] bytes() {
      return bytes;
    }

    /** Returns the bytes of a column, at position 0. */
    public ByteBuffer column(int column) {
      return parts[column].clear();
    }

    @Override
    public void close() {
      for (ElementWriter writer : writers) {
        writer.close();
      }
    }
  }
}
