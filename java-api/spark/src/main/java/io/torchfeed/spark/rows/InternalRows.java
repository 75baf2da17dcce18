// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.rows;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.Dependency;
import org.apache.spark.ShuffleDependency;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.QueryExecution;
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.CollectionConverters;

/** The rows of a DataFrame as Spark computes them, without objects for their values. */
public final class InternalRows {
  private InternalRows() {}

  /**
   * Returns the rows in as many partitions as there are ranks.
   *
   * @param ranks null for the DataFrame's own partitions
   */
  public static RDD<InternalRow> of(Dataset<Row> rows, @Nullable Integer ranks) {
    RDD<InternalRow> own = execution(rows).toRdd();
    int wanted = ranks == null ? own.getNumPartitions() : ranks;
    boolean fits = own.getNumPartitions() == wanted && isOneToOne(own, wanted);
    return fits || wanted == 0 ? own : execution(rows.repartition(wanted)).toRdd();
  }

  /**
   * Returns whether each partition is computed of one partition, up to the last shuffle: Spark runs
   * no barrier stage over a union, or over partitions that were put together.
   */
  private static boolean isOneToOne(RDD<?> rows, int partitions) {
    Set<RDD<?>> seen = new HashSet<>();
    Deque<RDD<?>> left = new ArrayDeque<>(List.of(rows));
    while (!left.isEmpty()) {
      RDD<?> next = left.pop();
      if (next.getNumPartitions() != partitions) {
        return false;
      }
      for (Dependency<?> dependency : CollectionConverters.asJava(next.dependencies())) {
        if (!(dependency instanceof ShuffleDependency) && seen.add(dependency.rdd())) {
          left.push(dependency.rdd());
        }
      }
    }
    return true;
  }

  /** Calls a method that is in another class in Spark 3.5. */
  private static QueryExecution execution(Dataset<Row> rows) {
    try {
      return (QueryExecution) rows.getClass().getMethod("queryExecution").invoke(rows);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("the rows of the DataFrame cannot be computed", e);
    }
  }
}
