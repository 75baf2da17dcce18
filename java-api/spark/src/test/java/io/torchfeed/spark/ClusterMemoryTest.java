// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.spark.SparkRanksException.Problem;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Executors with too little memory: for the Java heap, and outside of it. */
@Tag("cluster")
class ClusterMemoryTest {
  @Test
  void theUserLearnsWhichMemoryWasTooSmallAndTheNextJobRuns() {
    SparkSession spark = TestSpark.cluster(Map.of("spark.stage.maxConsecutiveAttempts", "2"));
    try {
      Dataset<Row> points = TestSpark.points(spark, 100, 2);

      assertThatThrownBy(() -> LineTask.ranks(points).train((context, rows) -> fill()))
          .isInstanceOfSatisfying(
              SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.FAILED))
          .hasMessageContaining("spark.executor.memory")
          .hasRootCauseInstanceOf(OutOfMemoryError.class);
      assertThat(LineTask.ranks(points).train(LineTask.of(null, null))).hasSize(2);

      // as a cluster's manager ends a process that takes more than its container has
      assertThatThrownBy(
              () ->
                  LineTask.ranks(points)
                      .train(
                          (context, rows) -> {
                            if (context.rank() == 1) {
                              Runtime.getRuntime().halt(137);
                            }
                            context.group().barrier();
                            return "";
                          }))
          .isInstanceOfSatisfying(
              SparkRanksException.class, e -> assertThat(e.problem()).isEqualTo(Problem.LOST))
          .hasMessageContaining("spark.executor.memoryOverhead");
      assertThat(LineTask.ranks(points).train(LineTask.of(null, null))).hasSize(2);
    } finally {
      spark.stop();
    }
  }

  private static String fill() {
    List<long[]> all = new ArrayList<>();
    while (all.size() < Integer.MAX_VALUE) {
      all.add(new long[1 << 20]);
    }
    return all.toString();
  }
}
