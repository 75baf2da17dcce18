// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.job;

import static java.util.Objects.requireNonNull;

import io.torchfeed.spark.InvalidRows;
import io.torchfeed.spark.SparkRanksException;
import io.torchfeed.spark.SparkRanksException.Problem;
import io.torchfeed.spark.link.SerializedValue;
import io.torchfeed.spark.rows.InternalRows;
import io.torchfeed.spark.rows.TableValues;
import io.torchfeed.table.FittedColumns;
import io.torchfeed.table.TableColumns;
import io.torchfeed.table.TableLearner;
import io.torchfeed.table.TableValueException;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.jspecify.annotations.Nullable;

/**
 * Learns the means, deviations and vocabularies of tables from the rows of DataFrames.
 *
 * <pre>{@code
 * TableColumns columns =
 *     TableColumns.of(
 *         TableTensor.features(
 *             "x",
 *             NumberColumn.of("age", "income").withMissingMean().withStandardization(),
 *             CategoryColumn.of("colour").withUnknownAllowed()),
 *         TableTensor.categories("label", CategoryColumn.of("class")));
 * FittedColumns fitted = SparkTables.fit(dataFrame, columns);
 * SparkRanks.on(dataFrame)
 *     .columns(RowColumn.ofTable(fitted, "x"), RowColumn.ofTable(fitted, "label"));
 * }</pre>
 */
public final class SparkTables {
  private static final Logger LOGGER = System.getLogger("io.torchfeed.spark");

  private SparkTables() {}

  /**
   * Learns from rows, each of which must fit.
   *
   * @param rows the training rows; null is a missing value
   * @param columns the description
   * @return the learned columns, the same for any partitions and order of the rows
   * @throws SparkRanksException if a column is missing or has no values of a table, or a value does
   *     not fit
   * @throws IllegalArgumentException as {@link TableLearner#fit}, or if the DataFrame is one of
   *     Spark Connect
   */
  public static FittedColumns fit(Dataset<Row> rows, TableColumns columns) {
    return fit(rows, columns, InvalidRows.ERROR);
  }

  /**
   * Learns from rows.
   *
   * @param rows the training rows; null is a missing value
   * @param columns the description
   * @param invalid whether a row with a value that does not fit is an error, or does not count
   * @return the learned columns, the same for any partitions and order of the rows
   * @throws SparkRanksException if a column is missing or has no values of a table, or a value does
   *     not fit and that is an error
   * @throws IllegalArgumentException as {@link TableLearner#fit}, or if the DataFrame is one of
   *     Spark Connect
   */
  public static FittedColumns fit(Dataset<Row> rows, TableColumns columns, InvalidRows invalid) {
    JobChecks.requireOwnSession(requireNonNull(rows, "rows"));
    requireNonNull(columns, "columns");
    requireNonNull(invalid, "invalid");
    TableValues values = TableValues.of(rows.schema(), columns.names());
    JavaRDD<byte[]> parts = // of bytes, for any serializer
        InternalRows.of(rows, null)
            .toJavaRDD()
            .mapPartitions(
                part -> List.of(bytes(learned(part, columns, values, invalid))).iterator());
    if (parts.getNumPartitions() == 0) {
      return TableLearner.of(columns).fit();
    }
    Learned all = learned(parts.treeReduce((one, other) -> bytes(merged(one, other))));
    if (all.left > 0 && invalid == InvalidRows.ERROR) {
      throw new SparkRanksException(Problem.ROW, all.first);
    } else if (all.left > 0) {
      LOGGER.log(
          Level.WARNING, "{0} rows do not fit, and do not count; one: {1}", all.left, all.first);
    }
    return all.learner.fit();
  }

  /**
   * The lessons of some rows.
   *
   * @param learner of the rows that fit
   * @param left the number of the others
   * @param first one of these, with its problem; empty if there is none
   */
  private record Learned(TableLearner learner, long left, String first) implements Serializable {}

  private static Learned learned(
      Iterator<InternalRow> rows, TableColumns columns, TableValues values, InvalidRows invalid) {
    TableLearner learner = TableLearner.of(columns);
    @Nullable Object[] cells = new @Nullable Object[values.size()];
    long left = 0;
    String first = "";
    for (long number = 0; rows.hasNext(); number++) {
      values.read(rows.next(), cells);
      try {
        learner.add(cells);
      } catch (TableValueException e) {
        if (left++ == 0) {
          int part = TaskContext.getPartitionId();
          first = "row %d of partition %d, %s".formatted(number, part, e.getMessage());
        }
        if (invalid == InvalidRows.ERROR) {
          break; // the driver reports it: Spark would repeat a task that fails
        }
      }
    }
    return new Learned(learner, left, first);
  }

  private static Learned merged(byte[] one, byte[] other) {
    Learned all = learned(one);
    Learned more = learned(other);
    all.learner.merge(more.learner);
    return new Learned(
        all.learner, all.left + more.left, all.first.isEmpty() ? more.first : all.first);
  }

  private static byte[] bytes(Learned learned) {
    try {
      return SerializedValue.of(learned);
    } catch (IOException e) {
      throw new UncheckedIOException("the learned columns cannot be serialized", e);
    }
  }

  private static Learned learned(byte[] bytes) {
    try {
      return (Learned) SerializedValue.read(bytes);
    } catch (IOException e) {
      throw new UncheckedIOException("the learned columns cannot be read", e);
    } catch (ClassNotFoundException e) {
      throw new IllegalStateException("the learned columns cannot be read", e);
    }
  }
}
