// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.QueryExecution;

/** The rows of a DataFrame as Spark computes them, without objects for their values. */
final class InternalRows {
  private InternalRows() {}

  /** Returns the rows in as many partitions as there are ranks. */
  static RDD<InternalRow> of(Dataset<Row> rows, int ranks) {
    RDD<InternalRow> as = of(rows);
    return as.getNumPartitions() == ranks ? as : of(rows.repartition(ranks));
  }

  static RDD<InternalRow> of(Dataset<Row> rows) {
    return execution(rows).toRdd();
  }

  /** Calls a method that is in another class in Spark 3.5, and missing in Spark Connect. */
  private static QueryExecution execution(Dataset<Row> rows) {
    try {
      return (QueryExecution) rows.getClass().getMethod("queryExecution").invoke(rows);
    } catch (NoSuchMethodException e) {
      throw new IllegalArgumentException(
          "the DataFrame must be of a session in the driver's JVM, got one of Spark Connect, "
              + rows.getClass().getName(),
          e);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the rows of the DataFrame cannot be computed", e);
    }
  }
}
